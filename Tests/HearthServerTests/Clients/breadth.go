// What Google's Go client can do, against a running server.
//
//	breadth ADDRESS
//	breadth resume HEARTH
//
// With resume, the program starts servers of its own, and kills them: its listeners go on by themselves, and miss
// nothing.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/ioutil"
	"log"
	"math"
	"net"
	"os"
	"os/exec"
	"reflect"
	"runtime"
	"sort"
	"strings"
	"time"

	"cloud.google.com/go/firestore"
	"google.golang.org/api/iterator"
	"google.golang.org/genproto/googleapis/type/latlng"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

type object = map[string]interface{}
type list = []interface{}

var ctx = context.Background()
var client *firestore.Client

// must ends the program at the caller's line if there is an error.
func must(err error) {
	if err != nil {
		stop("%v", err)
	}
}

func fails(code codes.Code, err error) {
	if status.Code(err) != code {
		stop("%v instead of %v", err, code)
	}
}

func equal(found, expected interface{}) {
	if !reflect.DeepEqual(found, expected) {
		stop("%#v instead of %#v", found, expected)
	}
}

// stop ends the program, and names the line outside of these functions.
func stop(format string, values ...interface{}) {
	_, _, line, _ := runtime.Caller(2)
	log.Fatalf("line %d: "+format, append([]interface{}{line}, values...)...)
}

func get(document *firestore.DocumentRef) *firestore.DocumentSnapshot {
	found, err := document.Get(ctx)
	if err != nil && status.Code(err) != codes.NotFound {
		log.Fatal(err)
	}
	return found
}

func data(document *firestore.DocumentRef) object { return get(document).Data() }

func set(document *firestore.DocumentRef, value interface{}, options ...firestore.SetOption) *firestore.WriteResult {
	result, err := document.Set(ctx, value, options...)
	if err != nil {
		log.Fatal(err)
	}
	return result
}

func update(document *firestore.DocumentRef, updates ...firestore.Update) {
	if _, err := document.Update(ctx, updates); err != nil {
		log.Fatal(err)
	}
}

func ids(documents *firestore.DocumentIterator) []string {
	found, err := documents.GetAll()
	if err != nil {
		log.Fatal(err)
	}
	names := []string{}
	for _, document := range found {
		names = append(names, document.Ref.ID)
	}
	return names
}

func checkDocuments() {
	books := client.Collection("books")
	dune := books.Doc("dune")
	created, err := dune.Create(ctx, object{"pages": 412, "m": object{"x": 1, "y": 2}})
	must(err)
	found := get(dune)
	equal(found.Data(), object{"pages": int64(412), "m": object{"x": int64(1), "y": int64(2)}})
	equal(found.CreateTime.Equal(created.UpdateTime) && found.UpdateTime.Equal(created.UpdateTime), true)
	equal(found.ReadTime.Before(created.UpdateTime), false)
	_, err = dune.Create(ctx, object{})
	fails(codes.AlreadyExists, err)
	missing, err := books.Doc("none").Get(ctx)
	fails(codes.NotFound, err)
	equal(missing.Exists(), false)
	_, err = books.Doc("none").Update(ctx, []firestore.Update{{Path: "a", Value: 1}})
	fails(codes.NotFound, err)

	// Merges, fields, transforms.
	set(dune, object{"m": object{"y": 3}, "new": true}, firestore.MergeAll)
	equal(data(dune), object{"pages": int64(412), "m": object{"x": int64(1), "y": int64(3)}, "new": true})
	set(dune, object{"m": object{"x": 5, "y": 6}, "new": 7}, firestore.Merge([]string{"m", "x"}))
	equal(data(dune), object{"pages": int64(412), "m": object{"x": int64(5), "y": int64(3)}, "new": true})
	set(dune, object{"new": firestore.Delete}, firestore.MergeAll)
	update(dune,
		firestore.Update{Path: "m.z", Value: 9}, firestore.Update{Path: "m.x", Value: firestore.Delete},
		firestore.Update{FieldPath: []string{"a.b"}, Value: "dot"})
	equal(data(dune), object{"pages": int64(412), "m": object{"y": int64(3), "z": int64(9)}, "a.b": "dot"})
	found = get(dune)
	dotted, err := found.DataAtPath([]string{"a.b"})
	must(err)
	equal(dotted, "dot")
	inner, err := found.DataAt("m.z")
	must(err)
	equal(inner, int64(9))
	set(dune, object{"n": 1, "tags": list{"a", "b", "a"}, "d": 1.5})
	update(dune,
		firestore.Update{Path: "n", Value: firestore.Increment(2)},
		firestore.Update{Path: "d", Value: firestore.Increment(0.25)},
		firestore.Update{Path: "tags", Value: firestore.ArrayRemove("a")},
		firestore.Update{Path: "union", Value: firestore.ArrayUnion("x", 1, 1.0)},
		firestore.Update{Path: "at", Value: firestore.ServerTimestamp})
	found = get(dune)
	equal(found.Data(), object{
		"n": int64(3), "tags": list{"b"}, "d": 1.75, "union": list{"x", int64(1)}, "at": found.UpdateTime})

	// Preconditions.
	past := firestore.LastUpdateTime(found.UpdateTime.Add(-time.Hour))
	_, err = dune.Update(ctx, []firestore.Update{{Path: "n", Value: 9}}, past)
	fails(codes.FailedPrecondition, err)
	_, err = dune.Delete(ctx, past)
	fails(codes.FailedPrecondition, err)
	_, err = books.Doc("none").Delete(ctx, firestore.Exists)
	fails(codes.NotFound, err)
	equal(data(dune)["n"], int64(3))
	_, err = dune.Update(
		ctx, []firestore.Update{{Path: "n", Value: 9}}, firestore.LastUpdateTime(found.UpdateTime))
	must(err)
	equal(data(dune)["n"], int64(9))
	_, err = dune.Delete(ctx, firestore.LastUpdateTime(get(dune).UpdateTime))
	must(err)
	equal(get(dune).Exists(), false)
	_, err = dune.Delete(ctx)
	must(err)

	// Structs.
	type book struct {
		Title string    `firestore:"title"`
		Note  string    `firestore:"note,omitempty"`
		Seen  time.Time `firestore:"seen,serverTimestamp"`
	}
	written := set(books.Doc("emma"), book{Title: "Emma"})
	var read book
	must(get(books.Doc("emma")).DataTo(&read))
	equal(read.Title, "Emma")
	equal(read.Seen.Equal(written.UpdateTime), true)
	equal(len(data(books.Doc("emma"))), 2)

	// Names that the client makes, several documents, lists.
	added, _, err := books.Add(ctx, object{"n": 1})
	must(err)
	equal(len(added.ID), 20)
	equal(len(books.NewDoc().ID), 20)
	several, err := client.GetAll(ctx, []*firestore.DocumentRef{books.Doc("none"), added, books.Doc("emma")})
	must(err)
	equal([]bool{several[0].Exists(), several[1].Exists(), several[2].Exists()}, []bool{false, true, true})
	equal(several[1].Ref.ID, added.ID)
	set(books.Doc("missing").Collection("notes").Doc("x"), object{})
	references, err := books.DocumentRefs(ctx).GetAll()
	must(err)
	names := []string{}
	for _, reference := range references {
		names = append(names, reference.ID)
	}
	sort.Strings(names)
	expected := []string{added.ID, "emma", "missing"}
	sort.Strings(expected)
	equal(names, expected)
	collections, err := client.Collections(ctx).GetAll()
	must(err)
	equal([]string{collections[0].ID}, []string{"books"})
	equal(len(collections), 1)
	collections, err = books.Doc("missing").Collections(ctx).GetAll()
	must(err)
	equal(len(collections) == 1 && collections[0].ID == "notes", true)
}

func checkValues() {
	kinds := client.Collection("kinds")
	at := time.Date(2024, 2, 29, 1, 2, 3, 123456000, time.UTC)
	// In Firestore's order.
	values := list{
		nil, false, true, math.NaN(), math.Inf(-1), int64(math.MinInt64), -0.5, 0.1, int64(math.MaxInt64), math.Inf(1), at,
		"", "za\u017c\u00f3\u0142\u0107", "\U0001f600", []byte{}, []byte{0, 255}, kinds.Doc("a"),
		&latlng.LatLng{Latitude: -52.5, Longitude: 21.25}, list{}, list{int64(1), "a", nil, object{"x": list{}}},
		object{}, object{"a.b": object{"`": int64(1)}}}
	names := []string{}
	for number, value := range values {
		document := kinds.Doc(fmt.Sprintf("k%02d", number))
		names = append(names, document.ID)
		set(document, object{"value": value})
		found := data(document)["value"]
		switch value := value.(type) {
		case float64:
			equal(found == value || math.IsNaN(found.(float64)) && math.IsNaN(value), true)
		case *latlng.LatLng:
			place := found.(*latlng.LatLng)
			equal([]float64{place.Latitude, place.Longitude}, []float64{value.Latitude, value.Longitude})
		case *firestore.DocumentRef:
			equal(found.(*firestore.DocumentRef).Path, value.Path)
		default:
			equal(found, value)
		}
		equal(ids(kinds.Where("value", "==", value).Documents(ctx)), []string{document.ID})
	}
	equal(ids(kinds.OrderBy("value", firestore.Asc).Documents(ctx)), names)
	equal(ids(kinds.Where("value", ">", -1).OrderBy("value", firestore.Asc).Documents(ctx)), names[6:10])
}

func checkQueries() {
	items := client.Collection("items")
	batch := client.Batch()
	for number := 0; number < 40; number++ {
		batch.Create(items.Doc(fmt.Sprintf("i%02d", number)), object{
			"n": number, "even": number%2 == 0, "tags": list{fmt.Sprintf("t%d", number%5)}, "m": object{"k": number % 4}})
	}
	written, err := batch.Commit(ctx)
	must(err)
	equal(len(written), 40)
	// expect checks which numbers a query finds.
	expect := func(query firestore.Query, numbers ...int) {
		expected := []string{}
		for _, number := range numbers {
			expected = append(expected, fmt.Sprintf("i%02d", number))
		}
		if found := ids(query.Documents(ctx)); !reflect.DeepEqual(found, expected) {
			stop("%v instead of %v", found, expected)
		}
	}
	ordered := items.OrderBy("n", firestore.Asc)

	for _, pivot := range []float64{-1, 0, 17, 17.5, 39, 40} {
		for operator, passes := range map[string]func(float64) bool{
			"<": func(n float64) bool { return n < pivot }, "<=": func(n float64) bool { return n <= pivot },
			"==": func(n float64) bool { return n == pivot },
			">=": func(n float64) bool { return n >= pivot }, ">": func(n float64) bool { return n > pivot },
		} {
			numbers := []int{}
			for number := 0; number < 40; number++ {
				if passes(float64(number)) {
					numbers = append(numbers, number)
				}
			}
			expect(ordered.Where("n", operator, pivot), numbers...)
		}
	}
	expect(items.Where("n", "in", list{3, 1, 99}), 1, 3)
	expect(items.Where("tags", "array-contains", "t1").Limit(3), 1, 6, 11)
	expect(items.Where("tags", "array-contains-any", list{"t1", "t2"}).Limit(3), 1, 2, 6)
	expect(items.Where("tags", "array-contains", "t1").Where("even", "==", true), 6, 16, 26, 36)
	expect(items.Where("n", ">", 3).Where("n", "<=", 5), 4, 5)
	expect(items.Where("m.k", "==", 3).Limit(2), 3, 7)
	expect(items.WherePath([]string{"m", "k"}, "==", 2).Limit(2), 2, 6)
	expect(items.Where(firestore.DocumentID, "==", items.Doc("i07")), 7)
	expect(items.Where(firestore.DocumentID, ">", items.Doc("i37")), 38, 39)
	expect(items.Where("none", "==", nil))
	expect(items.Where("n", "==", math.NaN()))

	expect(ordered.StartAt(3).EndBefore(5), 3, 4)
	expect(ordered.StartAfter(3).EndAt(5), 4, 5)
	snapshot := get(items.Doc("i37"))
	expect(ordered.StartAt(snapshot), 37, 38, 39)
	expect(ordered.StartAfter(snapshot), 38, 39)
	expect(ordered.EndBefore(get(items.Doc("i01"))), 0)
	expect(items.Where("n", ">", 35).StartAt(snapshot), 37, 38, 39)
	expect(ordered.Offset(3).Limit(2), 3, 4)
	expect(items.OrderBy("n", firestore.Desc).Limit(2), 39, 38)
	groups := items.OrderBy("m.k", firestore.Desc).OrderByPath([]string{"n"}, firestore.Asc)
	expect(groups.Limit(3), 3, 7, 11)
	expect(groups.StartAfter(2, 34).Limit(3), 38, 1, 5)
	expect(items.OrderBy(firestore.DocumentID, firestore.Desc).Limit(2), 39, 38)
	expect(items.OrderBy(firestore.DocumentID, firestore.Asc).StartAfter("i37"), 38, 39)

	first, err := items.Select("m.k", "none").Limit(1).Documents(ctx).Next()
	must(err)
	equal(first.Data(), object{"m": object{"k": int64(0)}})
	first, err = items.SelectPaths().Limit(1).Documents(ctx).Next()
	must(err)
	equal(first.Data(), object{})
	documents := ordered.Limit(2).Documents(ctx)
	for number := int64(0); number < 2; number++ {
		found, err := documents.Next()
		must(err)
		equal(found.Data()["n"], number)
	}
	_, err = documents.Next()
	equal(err, iterator.Done)
	// An iterator that is not read to its end.
	documents = ordered.Documents(ctx)
	_, err = documents.Next()
	must(err)
	documents.Stop()
	twice := ordered.OrderBy("n", firestore.Desc)
	_, err = twice.Documents(ctx).GetAll()
	fails(codes.InvalidArgument, err)
	_, err = items.Where("n", "in", list{}).Documents(ctx).GetAll()
	fails(codes.InvalidArgument, err)

	// Groups.
	for _, path := range []string{"a/1/leaves/x", "a/2/leaves/x", "b/1/c/1/leaves/y", "leaves/z", "a/1/leavesmore/q"} {
		set(client.Doc(path), object{"n": len(path)})
	}
	paths := []string{}
	leaves, err := client.CollectionGroup("leaves").Documents(ctx).GetAll()
	must(err)
	for _, leaf := range leaves {
		paths = append(paths, strings.SplitN(leaf.Ref.Path, "/documents/", 2)[1])
	}
	equal(paths, []string{"a/1/leaves/x", "a/2/leaves/x", "b/1/c/1/leaves/y", "leaves/z"})
	group := client.CollectionGroup("leaves")
	equal(ids(group.Where("n", ">", 8).OrderBy("n", firestore.Desc).Documents(ctx)), []string{"y", "x", "x"})
	equal(ids(group.OrderBy("n", firestore.Asc).Limit(1).Documents(ctx)), []string{"z"})
}

func checkBatches() {
	batches := client.Collection("batches")
	set(batches.Doc("old"), object{"n": 1})
	set(batches.Doc("gone"), object{})
	_, err := client.Batch().Create(batches.Doc("new"), object{}).
		Update(batches.Doc("nowhere"), []firestore.Update{{Path: "n", Value: 1}}).Commit(ctx)
	fails(codes.NotFound, err)
	equal(get(batches.Doc("new")).Exists(), false)
	results, err := client.Batch().Create(batches.Doc("new"), object{"at": firestore.ServerTimestamp}).
		Set(batches.Doc("old"), object{"m": 2}, firestore.MergeAll).
		Update(batches.Doc("old"), []firestore.Update{{Path: "n", Value: firestore.Increment(1)}}).
		Delete(batches.Doc("gone"), firestore.Exists).Commit(ctx)
	must(err)
	equal(len(results), 4)
	equal(data(batches.Doc("old")), object{"n": int64(2), "m": int64(2)})
	equal(data(batches.Doc("new"))["at"], results[0].UpdateTime)
	equal(get(batches.Doc("gone")).Exists(), false)
}

func checkTransactions() {
	accounts := client.Collection("accounts")
	for _, name := range []string{"a", "b", "c"} {
		set(accounts.Doc(name), object{"n": 10})
	}
	must(client.RunTransaction(ctx, func(ctx context.Context, t *firestore.Transaction) error {
		a, err := t.Get(accounts.Doc("a"))
		must(err)
		both, err := t.GetAll([]*firestore.DocumentRef{accounts.Doc("b"), accounts.Doc("none")})
		must(err)
		rich, err := t.Documents(accounts.Where("n", ">", 5)).GetAll()
		must(err)
		references, err := t.DocumentRefs(accounts).GetAll()
		must(err)
		equal([]int{len(rich), len(references)}, []int{3, 3})
		equal(both[1].Exists(), false)
		_, err = t.Get(accounts.Doc("none"))
		fails(codes.NotFound, err)
		must(t.Update(a.Ref, []firestore.Update{{Path: "n", Value: firestore.Increment(1)}}))
		must(t.Set(both[0].Ref, object{"m": 1}, firestore.MergeAll))
		must(t.Delete(accounts.Doc("c"), firestore.Exists))
		return t.Create(accounts.Doc("d"), object{"n": len(rich)})
	}))
	equal(data(accounts.Doc("a")), object{"n": int64(11)})
	equal(data(accounts.Doc("b")), object{"n": int64(10), "m": int64(1)})
	equal(get(accounts.Doc("c")).Exists(), false)
	equal(data(accounts.Doc("d")), object{"n": int64(3)})

	refusal := errors.New("no")
	err := client.RunTransaction(ctx, func(ctx context.Context, t *firestore.Transaction) error {
		must(t.Set(accounts.Doc("never"), object{}))
		return refusal
	})
	equal(err, refusal)
	equal(get(accounts.Doc("never")).Exists(), false)
	err = client.RunTransaction(ctx, func(ctx context.Context, t *firestore.Transaction) error {
		return t.Create(accounts.Doc("a"), object{})
	})
	fails(codes.AlreadyExists, err)

	// A conflict: another write comes between a read and the commit.
	for _, byQuery := range []bool{false, true} {
		attempts := []bool{}
		over := accounts.Doc("over")
		body := func(_ context.Context, t *firestore.Transaction) error {
			found := false
			if byQuery {
				rich, err := t.Documents(accounts.Where("n", ">=", 100)).GetAll()
				must(err)
				found = len(rich) > 0
			} else {
				both, err := t.GetAll([]*firestore.DocumentRef{over})
				must(err)
				found = both[0].Exists()
			}
			attempts = append(attempts, found)
			if len(attempts) == 1 {
				set(over, object{"n": 100})
			}
			return t.Set(accounts.Doc("seen"), object{"found": found})
		}
		must(client.RunTransaction(ctx, body))
		equal(attempts, []bool{false, true})
		equal(data(accounts.Doc("seen")), object{"found": true})
		_, err = over.Delete(ctx)
		must(err)
		attempts = nil
		fails(codes.Aborted, client.RunTransaction(ctx, body, firestore.MaxAttempts(1)))
		equal(data(accounts.Doc("seen")), object{"found": true})
		_, err = over.Delete(ctx)
		must(err)
	}

	// Without writes: one state.
	must(client.RunTransaction(ctx, func(_ context.Context, t *firestore.Transaction) error {
		first, err := t.Get(accounts.Doc("a"))
		must(err)
		set(accounts.Doc("a"), object{"n": 1000})
		second, err := t.Get(accounts.Doc("a"))
		must(err)
		equal(second.Data(), first.Data())
		equal(second.Data(), object{"n": int64(11)})
		rich, err := t.Documents(accounts.Where("n", ">=", 1000)).GetAll()
		must(err)
		equal(len(rich), 0)
		return nil
	}, firestore.ReadOnly))
	err = client.RunTransaction(ctx, func(_ context.Context, t *firestore.Transaction) error {
		return t.Set(accounts.Doc("a"), object{})
	}, firestore.ReadOnly)
	equal(err != nil, true)
	equal(data(accounts.Doc("a")), object{"n": int64(1000)})

	// Many at once.
	counter := accounts.Doc("counter")
	set(counter, object{"n": 0})
	ends := make(chan error)
	for worker := 0; worker < 8; worker++ {
		go func() {
			ends <- client.RunTransaction(ctx, func(_ context.Context, t *firestore.Transaction) error {
				found, err := t.Get(counter)
				if err != nil {
					return err
				}
				return t.Set(counter, object{"n": found.Data()["n"].(int64) + 1})
			}, firestore.MaxAttempts(20))
		}()
	}
	for worker := 0; worker < 8; worker++ {
		must(<-ends)
	}
	equal(data(counter), object{"n": int64(8)})
}

// next describes a snapshot: its documents, then its changes.
func next(snapshots *firestore.QuerySnapshotIterator) string {
	snapshot, err := snapshots.Next()
	if err != nil {
		log.Fatalf("a listener ended: %v", err)
	}
	text := strings.Join(ids(snapshot.Documents), " ") + " |"
	for _, change := range snapshot.Changes {
		text += fmt.Sprintf(" %s%s", map[firestore.DocumentChangeKind]string{
			firestore.DocumentAdded: "+", firestore.DocumentRemoved: "-", firestore.DocumentModified: "~",
		}[change.Kind], change.Doc.Ref.ID)
	}
	return text
}

func checkListeners() {
	games := client.Collection("games")
	set(games.Doc("a"), object{"n": 1, "open": true})
	set(games.Doc("b"), object{"n": 2, "open": false})
	limited, cancel := context.WithTimeout(ctx, 60*time.Second)
	defer cancel()
	all := games.Snapshots(limited)
	open := games.Where("open", "==", true).OrderBy("n", firestore.Desc).Snapshots(limited)
	top := games.OrderBy("n", firestore.Desc).Limit(1).Snapshots(limited)
	group := client.CollectionGroup("moves").Where("n", ">", 0).Snapshots(limited)
	one := games.Doc("c").Snapshots(limited)
	equal(next(all), "a b | +a +b")
	equal(next(open), "a | +a")
	equal(next(top), "b | +b")
	equal(next(group), " |")
	missing, err := one.Next()
	equal(missing.Exists(), false)
	equal(err == nil || status.Code(err) == codes.NotFound, true)

	// One commit is one snapshot.
	_, err = client.Batch().Update(games.Doc("b"), []firestore.Update{{Path: "open", Value: true}}).
		Set(games.Doc("c"), object{"n": 3, "open": false}).
		Set(games.Doc("a").Collection("moves").Doc("x"), object{"n": 1}).
		Set(games.Doc("b").Collection("moves").Doc("y"), object{"n": 0}).Commit(ctx)
	must(err)
	equal(next(all), "a b c | +c ~b")
	equal(next(open), "b a | +b")
	equal(next(top), "c | -b +c")
	equal(next(group), "x | +x")
	found, err := one.Next()
	must(err)
	equal(found.Data()["n"], int64(3))
	_, err = client.Batch().Update(games.Doc("a"), []firestore.Update{{Path: "n", Value: 5}}).
		Delete(games.Doc("c")).
		Update(games.Doc("a").Collection("moves").Doc("x"), []firestore.Update{{Path: "n", Value: 0}}).Commit(ctx)
	must(err)
	equal(next(all), "a b | -c ~a")
	equal(next(open), "a b | ~a")
	equal(next(top), "a | -c +a")
	equal(next(group), " | -x")
	missing, err = one.Next()
	equal(missing.Exists(), false)
	equal(err == nil || status.Code(err) == codes.NotFound, true)
	for _, snapshots := range []*firestore.QuerySnapshotIterator{all, open, top, group} {
		snapshots.Stop()
	}
	one.Stop()
	_, err = all.Next()
	equal(err, iterator.Done)
	_, err = games.Where("n", "in", list{}).Snapshots(limited).Next()
	fails(codes.InvalidArgument, err)
}

// resume kills the server four times, and starts it again.
func resume(hearth string) {
	folder, err := ioutil.TempDir("", "breadth")
	must(err)
	defer os.RemoveAll(folder)
	probe, err := net.Listen("tcp", "127.0.0.1:0")
	must(err)
	address := probe.Addr().String()
	probe.Close()
	start := func() *exec.Cmd {
		server := exec.Command(hearth, "serve", folder+"/data", "--emulator", "--port", strings.Split(address, ":")[1])
		output, err := server.StdoutPipe()
		must(err)
		must(server.Start())
		line, err := bufio.NewReader(output).ReadString('\n')
		must(err)
		equal(strings.HasPrefix(line, "Listening"), true)
		return server
	}
	server := start()
	defer func() { server.Process.Kill() }()
	os.Setenv("FIRESTORE_EMULATOR_HOST", address)
	client, err = firestore.NewClient(ctx, "resume")
	must(err)
	events := client.Collection("events")
	limited, cancel := context.WithTimeout(ctx, 120*time.Second)
	defer cancel()
	query := events.Where("n", ">=", 0).OrderBy("n", firestore.Asc).Snapshots(limited)
	document := events.Doc("marks").Snapshots(limited)
	added, removed, size := map[string]int{}, 0, 0
	marks := make(chan int64, 100)
	go func() {
		for {
			found, err := document.Next()
			if limited.Err() != nil {
				return
			}
			if err != nil && status.Code(err) != codes.NotFound {
				log.Fatalf("the listener of a document ended: %v", err)
			}
			if found.Exists() {
				marks <- found.Data()["round"].(int64)
			}
		}
	}()
	// write repeats a write until a server takes it.
	write := func(name string, value object) {
		for attempt := 0; ; attempt++ {
			_, err := events.Doc(name).Set(ctx, value)
			if err == nil {
				return
			}
			if status.Code(err) != codes.Unavailable || attempt > 200 {
				log.Fatalf("a write: %v", err)
			}
			time.Sleep(50 * time.Millisecond)
		}
	}
	written := 0
	for round := 0; round < 5; round++ {
		for number := 0; number < 5; number++ {
			write(fmt.Sprintf("%d-%d", round, number), object{"n": written})
			written++
		}
		write("marks", object{"round": round})
		for size < written {
			snapshot, err := query.Next()
			if err != nil {
				log.Fatalf("the listener of a query ended: %v", err)
			}
			size = snapshot.Size
			for _, change := range snapshot.Changes {
				if change.Kind == firestore.DocumentAdded {
					added[change.Doc.Ref.ID]++
				} else {
					removed++
				}
			}
		}
		for mark := int64(-1); mark != int64(round); {
			select {
			case mark = <-marks:
			case <-limited.Done():
				log.Fatalf("the listener of a document shows no round %d", round)
			}
		}
		if round < 4 {
			must(server.Process.Kill())
			server.Wait()
			server = start()
		}
	}
	equal(len(added), written)
	for name, count := range added {
		if count != 1 {
			log.Fatalf("%s was added %d times", name, count)
		}
	}
	equal(removed, 0)
	fmt.Printf("breadth: passed, resumed after 4 kills, %d documents\n", written)
}

func main() {
	log.SetFlags(0)
	if os.Args[1] == "resume" {
		resume(os.Args[2])
		return
	}
	os.Setenv("FIRESTORE_EMULATOR_HOST", os.Args[1])
	var err error
	client, err = firestore.NewClient(ctx, "breadth")
	must(err)
	checkDocuments()
	checkValues()
	checkQueries()
	checkBatches()
	checkTransactions()
	checkListeners()
	must(client.Close())
	fmt.Println("breadth: passed, with Go")
}
