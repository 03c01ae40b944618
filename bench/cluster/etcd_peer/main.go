// The part of the benchmark of clusters that uses etcd directly, through its client for Go.
//
//	etcd_peer ENDPOINTS SECONDS own|same CLIENTS   locks with etcd's own mutex (`concurrency`)
//	etcd_peer ENDPOINTS SECONDS chain PUTS         chained transactions with this number of puts
//	etcd_peer ENDPOINTS PREFIX read                reads all keys below the prefix
//
// Prints one JSON object with the results.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"sort"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"go.uber.org/zap"
)

const prefix = "bench-peer/"

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// Each caller gets a connection of its own, as each client of Rocklock has one.
func connect(endpoints []string) *clientv3.Client {
	client, err := clientv3.New(clientv3.Config{
		Endpoints: endpoints, DialTimeout: 10 * time.Second, Logger: zap.NewNop()})
	must(err)
	return client
}

func quantileUs(times []time.Duration, share float64) float64 {
	if len(times) == 0 {
		return 0
	}
	sort.Slice(times, func(i, j int) bool { return times[i] < times[j] })
	return float64(times[int(share*float64(len(times)-1))]) / 1000
}

func report(rate float64, times []time.Duration) {
	must(json.NewEncoder(os.Stdout).Encode(map[string]float64{
		"rate": rate, "p50_us": quantileUs(times, 0.5), "p99_us": quantileUs(times, 0.99)}))
}

// What all clients of a measurement share.
type measurement struct {
	mutex sync.Mutex
	until time.Time
	pairs int
	times []time.Duration
	// With `same`: the start of the last unlock, in nanoseconds after `began`.
	began    time.Time
	released atomic.Int64
}

// Locks and unlocks until the end. With `same`, measures the time from the start of each unlock to
// the return of the next lock; otherwise the time of each lock.
func (m *measurement) client(mutex *concurrency.Mutex, same bool) {
	ctx := context.Background()
	var times []time.Duration
	pairs := 0
	for time.Now().Before(m.until) {
		asked := time.Now()
		must(mutex.Lock(ctx))
		if !same {
			times = append(times, time.Since(asked))
		} else {
			now := time.Since(m.began)
			if released := m.released.Swap(int64(now)); released != 0 {
				times = append(times, now-time.Duration(released))
			}
		}
		must(mutex.Unlock(ctx))
		pairs++
	}
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.pairs += pairs
	m.times = append(m.times, times...)
}

func locks(endpoints []string, duration time.Duration, same bool, clients int) {
	var mutexes []*concurrency.Mutex
	for i := 0; i < clients; i++ {
		session, err := concurrency.NewSession(connect(endpoints), concurrency.WithTTL(60))
		must(err)
		defer session.Close()
		name := prefix + "one"
		if !same {
			name = prefix + "own-" + strconv.Itoa(i)
		}
		mutexes = append(mutexes, concurrency.NewMutex(session, name))
	}
	began := time.Now()
	m := measurement{until: began.Add(duration), began: began}
	var running sync.WaitGroup
	for _, mutex := range mutexes {
		running.Add(1)
		go func(mutex *concurrency.Mutex) {
			defer running.Done()
			m.client(mutex, same)
		}(mutex)
	}
	running.Wait()
	report(float64(m.pairs)/time.Since(began).Seconds(), m.times)
}

// Transactions as a manager of Rocklock sends them: each one compares the key of the leader and the
// number of the transaction before it, and the next one is sent after the response.
func chain(endpoints []string, duration time.Duration, puts int) {
	client := connect(endpoints)
	ctx := context.Background()
	put, err := client.Put(ctx, prefix+"lead", "lead")
	must(err)
	_, err = client.Delete(ctx, prefix+"commit")
	must(err)
	leads := clientv3.Compare(clientv3.ModRevision(prefix+"lead"), "=", put.Header.Revision)
	value := strings.Repeat("v", 200)
	began := time.Now()
	var times []time.Duration
	count := 0
	for time.Since(began) < duration {
		compares := []clientv3.Cmp{leads}
		if count > 0 {
			compares = append(compares, clientv3.Compare(clientv3.Value(prefix+"commit"), "=", strconv.Itoa(count)))
		}
		count++
		operations := []clientv3.Op{clientv3.OpPut(prefix+"commit", strconv.Itoa(count))}
		for i := 1; i < puts; i++ {
			operations = append(operations, clientv3.OpPut(fmt.Sprintf("%srecord-%d", prefix, i), value))
		}
		asked := time.Now()
		done, err := client.Txn(ctx).If(compares...).Then(operations...).Commit()
		must(err)
		if !done.Succeeded {
			log.Fatal("a chained transaction was refused")
		}
		times = append(times, time.Since(asked))
	}
	report(float64(count*puts)/time.Since(began).Seconds(), times)
}

// Reads all keys in one request.
func read(endpoints []string, from string) {
	client := connect(endpoints)
	began := time.Now()
	all, err := client.Get(context.Background(), from, clientv3.WithPrefix())
	must(err)
	seconds := time.Since(began).Seconds()
	must(json.NewEncoder(os.Stdout).Encode(map[string]float64{"keys": float64(len(all.Kvs)), "seconds": seconds}))
}

func main() {
	log.SetFlags(0)
	if len(os.Args) < 4 {
		log.Fatal("usage: etcd_peer ENDPOINTS SECONDS own|same|chain N, or etcd_peer ENDPOINTS PREFIX read")
	}
	endpoints := strings.Split(os.Args[1], ",")
	if os.Args[3] == "read" {
		read(endpoints, os.Args[2])
		return
	}
	seconds, err := strconv.ParseFloat(os.Args[2], 64)
	must(err)
	duration := time.Duration(seconds * float64(time.Second))
	number, err := strconv.Atoi(os.Args[4])
	must(err)
	if os.Args[3] == "chain" {
		chain(endpoints, duration, number)
	} else {
		locks(endpoints, duration, os.Args[3] == "same", number)
	}
}
