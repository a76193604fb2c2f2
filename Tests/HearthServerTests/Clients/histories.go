// Random transactions over six cells, which a test replays.
//
//	histories ADDRESS PROJECT NAME TRANSACTIONS
//
// Prints "ready", waits for a line, and then prints what each transaction that was committed saw and wrote, as the
// transactions of hearth-test-helper do.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"math/rand"
	"os"
	"strconv"
	"time"

	"cloud.google.com/go/firestore"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

type cell struct {
	ID string  `json:"id"`
	By *string `json:"by"`
}

type question struct {
	Key   *int   `json:"key"`
	Found []cell `json:"found"`
}

type write struct {
	ID  string `json:"id"`
	Key *int   `json:"key"`
}

type episode struct {
	ID        string     `json:"id"`
	Reads     []cell     `json:"reads"`
	Questions []question `json:"questions"`
	Writes    []write    `json:"writes"`
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func seen(document *firestore.DocumentSnapshot) cell {
	found := cell{ID: document.Ref.ID}
	if document.Exists() {
		by := document.Data()["by"].(string)
		found.By = &by
	}
	return found
}

func key() *int {
	key := rand.Intn(3)
	return &key
}

func run(client *firestore.Client, id string) episode {
	cells := client.Collection("cells")
	order := rand.Perm(6)
	name := func(place int) string { return fmt.Sprintf("c%d", order[place]) }
	plan := episode{ID: id, Reads: []cell{}, Questions: []question{}, Writes: []write{}}
	var reads []*firestore.DocumentRef
	for count := rand.Intn(3); count > 0; count-- {
		reads = append(reads, cells.Doc(name(count-1)))
	}
	for count := rand.Intn(3); count > 0; count-- {
		asked := question{}
		if rand.Intn(2) == 0 {
			asked.Key = key()
		}
		plan.Questions = append(plan.Questions, asked)
	}
	for count := rand.Intn(3); count > 0; count-- {
		written := write{ID: name(6 - count)}
		if rand.Intn(4) > 0 {
			written.Key = key()
		}
		plan.Writes = append(plan.Writes, written)
	}
	var result episode
	body := func(_ context.Context, t *firestore.Transaction) error {
		result = plan
		result.Reads, result.Questions = []cell{}, []question{}
		if len(reads) > 0 {
			found, err := t.GetAll(reads)
			if err != nil {
				return err
			}
			for _, document := range found {
				result.Reads = append(result.Reads, seen(document))
			}
		}
		for _, asked := range plan.Questions {
			query := cells.OrderBy("k", firestore.Asc).Limit(2)
			if asked.Key != nil {
				query = cells.Where("k", "==", *asked.Key)
			}
			found, err := t.Documents(query).GetAll()
			if err != nil {
				return err
			}
			asked.Found = []cell{}
			for _, document := range found {
				asked.Found = append(asked.Found, seen(document))
			}
			result.Questions = append(result.Questions, asked)
		}
		for _, written := range plan.Writes {
			var err error
			if written.Key == nil {
				err = t.Delete(cells.Doc(written.ID))
			} else {
				err = t.Set(cells.Doc(written.ID), map[string]interface{}{"k": *written.Key, "by": id})
			}
			if err != nil {
				return err
			}
		}
		return t.Set(client.Doc("episodes/"+id), map[string]interface{}{"n": 1})
	}
	// A read is aborted if its document was read before, and another commit was in between. The client repeats only
	// what the commit refuses.
	aborted := status.Error(codes.Aborted, "")
	for status.Code(aborted) == codes.Aborted {
		aborted = client.RunTransaction(context.Background(), body, firestore.MaxAttempts(1000))
	}
	must(aborted)
	return result
}

func main() {
	must(os.Setenv("FIRESTORE_EMULATOR_HOST", os.Args[1]))
	rand.Seed(time.Now().UnixNano())
	client, err := firestore.NewClient(context.Background(), os.Args[2])
	must(err)
	transactions, err := strconv.Atoi(os.Args[4])
	must(err)
	fmt.Println("ready")
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	for number := 0; number < transactions; number++ {
		line, err := json.Marshal(run(client, fmt.Sprintf("%s-%d", os.Args[3], number)))
		must(err)
		fmt.Println(string(line))
	}
	must(client.Close())
}
