// Google's Go client against a running server, through a relay that counts frames.
//
//	pings ADDRESS CALLS SECONDS
//
// The client sends about one PING with each call. All calls, and a listener that is open for this
// time, must use one connection, which the server does not end.
package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"strconv"
	"sync/atomic"
	"time"

	"cloud.google.com/go/firestore"
)

var connections, pings, goAways int64

// count reads frames, after skipping the preface, and counts those that matter.
func count(reader io.Reader, skip int64) {
	if _, err := io.CopyN(io.Discard, reader, skip); err != nil {
		return
	}
	for {
		var header [9]byte
		if _, err := io.ReadFull(reader, header[:]); err != nil {
			return
		}
		length := int64(binary.BigEndian.Uint32(header[:4]) >> 8)
		switch {
		case header[3] == 6 && header[4]&1 == 0 && skip > 0:
			atomic.AddInt64(&pings, 1)
		case header[3] == 7 && skip == 0:
			atomic.AddInt64(&goAways, 1)
		}
		if _, err := io.CopyN(io.Discard, reader, length); err != nil {
			return
		}
	}
}

func pass(from, to net.Conn, skip int64) {
	reader, writer := io.Pipe()
	go count(reader, skip)
	io.Copy(io.MultiWriter(to, writer), from)
	to.Close()
	writer.Close()
}

func relay(address string) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			atomic.AddInt64(&connections, 1)
			server, err := net.Dial("tcp", address)
			if err != nil {
				log.Fatal(err)
			}
			go pass(client, server, 24)
			go pass(server, client, 0)
		}
	}()
	return listener.Addr().String()
}

func main() {
	calls, _ := strconv.Atoi(os.Args[2])
	seconds, _ := strconv.Atoi(os.Args[3])
	os.Setenv("FIRESTORE_EMULATOR_HOST", relay(os.Args[1]))
	ctx := context.Background()
	client, err := firestore.NewClient(ctx, "pings")
	if err != nil {
		log.Fatal(err)
	}
	books := client.Collection("books")
	snapshots := books.OrderBy("n", firestore.Desc).Limit(1).Snapshots(ctx)
	var last int64 = -1
	go func() {
		for {
			snapshot, err := snapshots.Next()
			if err != nil {
				log.Fatalf("the listener ended: %v", err)
			}
			documents, err := snapshot.Documents.GetAll()
			if err != nil {
				log.Fatal(err)
			}
			for _, document := range documents {
				atomic.StoreInt64(&last, document.Data()["n"].(int64))
			}
		}
	}()
	end := time.Now().Add(time.Duration(seconds) * time.Second)
	number := 0
	for number < calls || time.Now().Before(end) {
		number += 2
		book := books.Doc("one")
		if _, err := book.Set(ctx, map[string]interface{}{"n": number}); err != nil {
			log.Fatal(err)
		}
		if _, err := book.Get(ctx); err != nil {
			log.Fatal(err)
		}
		if number > calls {
			time.Sleep(50 * time.Millisecond)
		}
	}
	err = client.RunTransaction(ctx, func(ctx context.Context, t *firestore.Transaction) error {
		found, err := t.Get(books.Doc("one"))
		if err != nil {
			return err
		}
		return t.Set(books.Doc("one"), map[string]interface{}{"n": found.Data()["n"].(int64) + 1})
	})
	if err != nil {
		log.Fatal(err)
	}
	for attempt := 0; atomic.LoadInt64(&last) != int64(number+1); attempt++ {
		if attempt > 500 {
			log.Fatalf("the listener shows %d instead of %d", atomic.LoadInt64(&last), number+1)
		}
		time.Sleep(10 * time.Millisecond)
	}
	if connections != 1 || goAways != 0 {
		log.Fatalf("%d connections, %d GOAWAY, %d PINGs", connections, goAways, pings)
	}
	fmt.Printf("pings: passed, %d calls, %d s, %d PINGs, %d connection, %d GOAWAY\n",
		number, seconds, pings, connections, goAways)
}
