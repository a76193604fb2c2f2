// Google's Go client against a running server, through a relay that counts frames.
//
//	pings ADDRESS CALLS SECONDS [FOLDER]
//	pings certificate FOLDER
//
// The client sends about one PING with each call. All calls, and a listener that is open for this
// time, must use one connection, which the server does not end.
//
// With a folder, both sides of the relay speak TLS, with its cert.pem and key.pem, which the second form makes.
package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/binary"
	"encoding/pem"
	"fmt"
	"io"
	"io/ioutil"
	"log"
	"math/big"
	"net"
	"os"
	"strconv"
	"sync/atomic"
	"time"

	"cloud.google.com/go/firestore"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
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

// settings of both sides of the relay; nil without TLS.
func settings(folder string) *tls.Config {
	if folder == "" {
		return nil
	}
	pair, err := tls.LoadX509KeyPair(folder+"/cert.pem", folder+"/key.pem")
	if err != nil {
		log.Fatal(err)
	}
	content, err := ioutil.ReadFile(folder + "/cert.pem")
	if err != nil {
		log.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(content)
	return &tls.Config{Certificates: []tls.Certificate{pair}, RootCAs: roots, NextProtos: []string{"h2"}}
}

func writePEM(path, kind string, content []byte) {
	block := pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: content})
	if err := ioutil.WriteFile(path, block, 0600); err != nil {
		log.Fatal(err)
	}
}

func makeCertificate(folder string) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		log.Fatal(err)
	}
	template := x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "localhost"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	certificate, err := x509.CreateCertificate(rand.Reader, &template, &template, key.Public(), key)
	if err != nil {
		log.Fatal(err)
	}
	content, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		log.Fatal(err)
	}
	writePEM(folder+"/cert.pem", "CERTIFICATE", certificate)
	writePEM(folder+"/key.pem", "PRIVATE KEY", content)
}

func relay(address string, settings *tls.Config) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	if settings != nil {
		listener = tls.NewListener(listener, settings)
	}
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			atomic.AddInt64(&connections, 1)
			var server net.Conn
			if settings != nil {
				server, err = tls.Dial("tcp", address, settings)
			} else {
				server, err = net.Dial("tcp", address)
			}
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
	if os.Args[1] == "certificate" {
		makeCertificate(os.Args[2])
		return
	}
	calls, _ := strconv.Atoi(os.Args[2])
	seconds, _ := strconv.Atoi(os.Args[3])
	folder, kind := "", "plaintext"
	if len(os.Args) > 4 {
		folder, kind = os.Args[4], "TLS"
	}
	config := settings(folder)
	address := relay(os.Args[1], config)
	var options []option.ClientOption
	if config == nil {
		os.Setenv("FIRESTORE_EMULATOR_HOST", address)
	} else {
		os.Unsetenv("FIRESTORE_EMULATOR_HOST")
		options = []option.ClientOption{
			option.WithEndpoint(address), option.WithoutAuthentication(),
			option.WithGRPCDialOption(grpc.WithTransportCredentials(credentials.NewTLS(config))),
		}
	}
	ctx := context.Background()
	client, err := firestore.NewClient(ctx, "pings", options...)
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
	fmt.Printf("pings: passed, %s, %d calls, %d s, %d PINGs, %d connection, %d GOAWAY\n",
		kind, number, seconds, pings, connections, goAways)
}
