// Raw gRPC against a server of google.firestore.v1, and a stub of one that answers at once: the floor.
//
//	load stub                     serves; prints its address
//	load times ADDRESS PID COUNT  p50, p99, and the server's processor time, of each kind of call
//	load rate ADDRESS SECONDS     sets in a second, from 64 connections
//	load idle ADDRESS PID COUNT   memory of the server for each idle listen stream, 500 on a connection
//
// Prints JSON; times in microseconds.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net"
	"os"
	"sort"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/golang/protobuf/ptypes"
	pb "google.golang.org/genproto/googleapis/firestore/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
)

const database = "projects/bench/databases/(default)"
const root = database + "/documents"

// As Google's clients call: the emulator knows a stream's database by this header alone.
func calling() context.Context {
	return metadata.AppendToOutgoingContext(
		context.Background(), "google-cloud-resource-prefix", database)
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func text(s string) *pb.Value { return &pb.Value{ValueType: &pb.Value_StringValue{StringValue: s}} }
func number(n int) *pb.Value {
	return &pb.Value{ValueType: &pb.Value_IntegerValue{IntegerValue: int64(n)}}
}
func flag(b bool) *pb.Value    { return &pb.Value{ValueType: &pb.Value_BooleanValue{BooleanValue: b}} }
func real(n float64) *pb.Value { return &pb.Value{ValueType: &pb.Value_DoubleValue{DoubleValue: n}} }
func list(v ...*pb.Value) *pb.Value {
	return &pb.Value{ValueType: &pb.Value_ArrayValue{ArrayValue: &pb.ArrayValue{Values: v}}}
}
func object(fields map[string]*pb.Value) *pb.Value {
	return &pb.Value{ValueType: &pb.Value_MapValue{MapValue: &pb.MapValue{Fields: fields}}}
}

// The book of the other benchmarks.
func book(name string, n int) *pb.Document {
	base := fmt.Sprintf("https://example.com/covers/%d", n)
	cover := map[string]*pb.Value{}
	for _, size := range []string{"small", "medium", "large"} {
		cover[size] = text(base + "/" + size + ".png")
	}
	return &pb.Document{Name: root + "/books/" + name, Fields: map[string]*pb.Value{
		"title":         text(fmt.Sprintf("The Hitchhiker's Guide to the Galaxy, volume %d", n)),
		"author":        text(fmt.Sprintf("Author number %d", n/100)),
		"isbn":          text(fmt.Sprintf("978-0-345-39180-%d", n%10)),
		"numberOfPages": number(n * 7919 % 1000003 % 1000),
		"rating":        real(float64(n*7919%1000003) / 200000),
		"published":     number(308620800 + n%1000000),
		"isAvailable":   flag(n%3 != 0),
		"tags": list(
			object(map[string]*pb.Value{"title": text("favourite"), "color": text("#ff0000")}),
			object(map[string]*pb.Value{"title": text(fmt.Sprintf("shelf %d", n%20)), "color": text("#00ff00")})),
		"genres": list(text("comedy"), text("science fiction"), text("adventure")),
		"cover":  object(cover),
	}}
}

func set(document *pb.Document) *pb.CommitRequest {
	return &pb.CommitRequest{
		Database: database, Writes: []*pb.Write{{Operation: &pb.Write_Update{Update: document}}}}
}

func query(n int) *pb.RunQueryRequest {
	return &pb.RunQueryRequest{Parent: root, QueryType: &pb.RunQueryRequest_StructuredQuery{
		StructuredQuery: &pb.StructuredQuery{
			From: []*pb.StructuredQuery_CollectionSelector{{CollectionId: "books"}},
			Where: &pb.StructuredQuery_Filter{FilterType: &pb.StructuredQuery_Filter_FieldFilter{
				FieldFilter: &pb.StructuredQuery_FieldFilter{
					Field: &pb.StructuredQuery_FieldReference{FieldPath: "author"},
					Op:    pb.StructuredQuery_FieldFilter_EQUAL,
					Value: text(fmt.Sprintf("Author number %d", n))}}}}}}
}

func listen(collection string, document string) *pb.ListenRequest {
	target := &pb.Target{TargetId: 1}
	if document != "" {
		target.TargetType = &pb.Target_Documents{
			Documents: &pb.Target_DocumentsTarget{Documents: []string{document}}}
	} else {
		target.TargetType = &pb.Target_Query{Query: &pb.Target_QueryTarget{
			Parent: root, QueryType: &pb.Target_QueryTarget_StructuredQuery{
				StructuredQuery: &pb.StructuredQuery{
					From: []*pb.StructuredQuery_CollectionSelector{{CollectionId: collection}}}}}}
	}
	return &pb.ListenRequest{
		Database: database, TargetChange: &pb.ListenRequest_AddTarget{AddTarget: target}}
}

// The stub.

type stub struct {
	pb.UnimplementedFirestoreServer
	one       *pb.Document
	hundred   []*pb.RunQueryResponse
	listeners sync.Map
}

func (s *stub) GetDocument(context.Context, *pb.GetDocumentRequest) (*pb.Document, error) {
	return s.one, nil
}

func (s *stub) BeginTransaction(
	context.Context, *pb.BeginTransactionRequest) (*pb.BeginTransactionResponse, error) {
	return &pb.BeginTransactionResponse{Transaction: []byte("transaction")}, nil
}

func (s *stub) Commit(context.Context, *pb.CommitRequest) (*pb.CommitResponse, error) {
	s.listeners.Range(func(key, _ any) bool {
		key.(chan bool) <- true
		return true
	})
	now := ptypes.TimestampNow()
	return &pb.CommitResponse{
		CommitTime: now, WriteResults: []*pb.WriteResult{{UpdateTime: now}}}, nil
}

func (s *stub) RunQuery(_ *pb.RunQueryRequest, stream pb.Firestore_RunQueryServer) error {
	for _, answer := range s.hundred {
		if err := stream.Send(answer); err != nil {
			return err
		}
	}
	return nil
}

func change(kind pb.TargetChange_TargetChangeType, ids ...int32) *pb.ListenResponse {
	return &pb.ListenResponse{ResponseType: &pb.ListenResponse_TargetChange{
		TargetChange: &pb.TargetChange{
			TargetChangeType: kind, TargetIds: ids, ReadTime: ptypes.TimestampNow(),
			ResumeToken: []byte("sixteen bytes ..")}}}
}

func (s *stub) Listen(stream pb.Firestore_ListenServer) error {
	if _, err := stream.Recv(); err != nil {
		return err
	}
	news := make(chan bool, 1000)
	s.listeners.Store(news, true)
	defer s.listeners.Delete(news)
	stream.Send(change(pb.TargetChange_CURRENT, 1))
	stream.Send(change(pb.TargetChange_NO_CHANGE))
	for {
		select {
		case <-stream.Context().Done():
			return nil
		case <-news:
			stream.Send(&pb.ListenResponse{ResponseType: &pb.ListenResponse_DocumentChange{
				DocumentChange: &pb.DocumentChange{Document: s.one, TargetIds: []int32{1}}}})
			stream.Send(change(pb.TargetChange_NO_CHANGE))
		}
	}
}

func serveStub() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	now := ptypes.TimestampNow()
	s := &stub{one: book("one", 1)}
	s.one.CreateTime, s.one.UpdateTime = now, now
	for n := 0; n < 100; n++ {
		document := book(strconv.Itoa(n), n)
		document.CreateTime, document.UpdateTime = now, now
		s.hundred = append(s.hundred, &pb.RunQueryResponse{Document: document, ReadTime: now})
	}
	server := grpc.NewServer()
	pb.RegisterFirestoreServer(server, s)
	fmt.Println(listener.Addr())
	check(server.Serve(listener))
}

// The load.

func connect(address string) (*grpc.ClientConn, pb.FirestoreClient) {
	connection, err := grpc.Dial(address, grpc.WithInsecure(), grpc.WithBlock())
	check(err)
	return connection, pb.NewFirestoreClient(connection)
}

// Processor time of a process, in microseconds.
func processorTime(pid string) float64 {
	content, err := os.ReadFile("/proc/" + pid + "/stat")
	check(err)
	fields := strings.Fields(string(content[strings.LastIndexByte(string(content), ')')+2:]))
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return float64(user+system) * 10000
}

// Resident memory of a process, in KiB.
func resident(pid string) int {
	content, err := os.ReadFile("/proc/" + pid + "/status")
	check(err)
	for _, line := range strings.Split(string(content), "\n") {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == "VmRSS:" {
			kilobytes, _ := strconv.Atoi(fields[1])
			return kilobytes
		}
	}
	return 0
}

type figure struct {
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
	CPU float64 `json:"cpu"`
}

func timed(pid string, count int, call func(int)) figure {
	for n := 0; n < count/10+1; n++ {
		call(n)
	}
	began, times := processorTime(pid), make([]float64, count)
	for n := range times {
		start := time.Now()
		call(n)
		times[n] = float64(time.Since(start).Nanoseconds()) / 1000
	}
	used := processorTime(pid) - began
	sort.Float64s(times)
	return figure{times[count/2], times[count*99/100], used / float64(count)}
}

func times(address, pid string, count int) {
	_, client := connect(address)
	ctx := calling()
	for begin := 0; begin < 1000; begin += 250 {
		batch := &pb.CommitRequest{Database: database}
		for n := begin; n < begin+250; n++ {
			batch.Writes = append(
				batch.Writes, &pb.Write{Operation: &pb.Write_Update{Update: book(strconv.Itoa(n), n)}})
		}
		_, err := client.Commit(ctx, batch)
		check(err)
	}
	results := map[string]figure{}
	commit := func(request *pb.CommitRequest) {
		_, err := client.Commit(ctx, request)
		check(err)
	}
	get := func(n int, transaction []byte) {
		request := &pb.GetDocumentRequest{Name: fmt.Sprintf("%s/books/%d", root, n%1000)}
		if transaction != nil {
			request.ConsistencySelector = &pb.GetDocumentRequest_Transaction{Transaction: transaction}
		}
		_, err := client.GetDocument(ctx, request)
		check(err)
	}
	results["set"] = timed(pid, count, func(n int) {
		document := book("new", n)
		document.Name = fmt.Sprintf("%s/others/%d", root, n%1000)
		commit(set(document))
	})
	results["get"] = timed(pid, count, func(n int) { get(n, nil) })
	results["query"] = timed(pid, count, func(n int) {
		stream, err := client.RunQuery(ctx, query(n%10))
		check(err)
		found := 0
		for {
			answer, err := stream.Recv()
			if err != nil {
				break
			}
			if answer.Document != nil {
				found++
			}
		}
		if found != 100 {
			log.Fatalf("%d documents instead of 100", found)
		}
	})
	results["transaction"] = timed(pid, count, func(n int) {
		begun, err := client.BeginTransaction(ctx, &pb.BeginTransactionRequest{Database: database})
		check(err)
		get(n, begun.Transaction)
		request := set(book(strconv.Itoa(n%1000), n%1000))
		request.Transaction = begun.Transaction
		commit(request)
	})
	document := book("listened", 1)
	commit(set(document))
	stream, err := client.Listen(ctx)
	check(err)
	check(stream.Send(listen("", document.Name)))
	await := func(isNews func(*pb.ListenResponse) bool) {
		for {
			answer, err := stream.Recv()
			check(err)
			if isNews(answer) {
				return
			}
		}
	}
	await(func(answer *pb.ListenResponse) bool {
		change := answer.GetTargetChange()
		return change != nil && change.TargetChangeType == pb.TargetChange_NO_CHANGE
	})
	results["news"] = timed(pid, count, func(n int) {
		changed := book("listened", n+2)
		commit(set(changed))
		await(func(answer *pb.ListenResponse) bool { return answer.GetDocumentChange() != nil })
	})
	print(results)
}

func rate(address string, seconds int) {
	var sets int64
	var group sync.WaitGroup
	end := time.Now().Add(time.Duration(seconds) * time.Second)
	for connection := 0; connection < 64; connection++ {
		_, client := connect(address)
		group.Add(1)
		go func(worker int) {
			defer group.Done()
			for n := 0; time.Now().Before(end); n++ {
				document := book(fmt.Sprintf("%d-%d", worker, n%100), n)
				_, err := client.Commit(calling(), set(document))
				check(err)
				atomic.AddInt64(&sets, 1)
			}
		}(connection)
	}
	group.Wait()
	print(map[string]float64{"rate": float64(sets) / float64(seconds)})
}

func idle(address, pid string, count int) {
	_, first := connect(address)
	_, err := first.Commit(calling(), set(book("listened", 1)))
	check(err)
	time.Sleep(time.Second)
	before := resident(pid)
	var client pb.FirestoreClient
	connections := 0
	for n := 0; n < count; n++ {
		if n%500 == 0 {
			_, client = connect(address)
			connections++
		}
		stream, err := client.Listen(calling())
		check(err)
		check(stream.Send(listen(fmt.Sprintf("idle-%d", n), "")))
		for {
			answer, err := stream.Recv()
			check(err)
			change := answer.GetTargetChange()
			if change != nil && change.TargetChangeType == pb.TargetChange_NO_CHANGE {
				break
			}
		}
	}
	// A minute of heartbeats is part of being idle.
	time.Sleep(40 * time.Second)
	used := resident(pid) - before
	print(map[string]float64{
		"streams": float64(count), "connections": float64(connections), "before": float64(before),
		"each": float64(used) / float64(count)})
}

func print(results any) { check(json.NewEncoder(os.Stdout).Encode(results)) }

func main() {
	argument := func(place int) string {
		if len(os.Args) <= place {
			log.Fatal("load stub | times ADDRESS PID COUNT | rate ADDRESS SECONDS | idle ADDRESS PID COUNT")
		}
		return os.Args[place]
	}
	count := func(place int) int {
		count, err := strconv.Atoi(argument(place))
		check(err)
		return count
	}
	switch argument(1) {
	case "stub":
		serveStub()
	case "times":
		times(argument(2), argument(3), count(4))
	case "rate":
		rate(argument(2), count(3))
	case "idle":
		idle(argument(2), argument(3), count(4))
	}
}
