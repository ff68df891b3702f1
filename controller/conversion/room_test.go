package conversion

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	memory "runtime/metrics"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestRoomIsForObjectsToo: no object is decoded while others take the memory for that.
func TestRoomIsForObjectsToo(t *testing.T) {
	w, _, _ := webhook(t, 0)
	if err := w.objects.Acquire(context.Background(), decoded); err != nil {
		t.Fatal(err)
	}
	ctx, leave := context.WithCancel(context.Background())
	leave()
	if _, err := w.review(ctx, request{group: "example.com", version: "v1", objects: json.RawMessage("[" + gadget("v1", "") + "]")}); !errors.Is(err, errNoRoom) {
		t.Errorf("%v", err)
	}
	answers := make(chan int)
	go func() {
		answers <- post(w, strings.NewReader(reviewOf("u", "example.com/v1", gadget("v1", ""))), "application/json").Code
	}()
	w.objects.Release(decoded)
	if code := <-answers; code != http.StatusOK || !w.objects.TryAcquire(decoded) || !w.room.bytes.TryAcquire(w.limit) || !w.room.beyond.TryAcquire(1) {
		t.Errorf("with room: %d, or some is not given back", code)
	}
}

// TestIdleClientsHoldNothing: any number of clients that announce a body, and send nothing, do not hold up others.
func TestIdleClientsHoldNothing(t *testing.T) {
	w, _, _ := webhook(t, 0)
	server := httptest.NewServer(w)
	defer server.Close()
	for range 20 {
		idle, err := net.Dial("tcp", server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = idle.Close() }()
		fmt.Fprintf(idle, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n", Path, DefaultLimit)
		// The answer says that the body is about to be read.
		if line, err := bufio.NewReader(idle).ReadString('\n'); err != nil || !strings.Contains(line, "100") {
			t.Fatalf("%q, %v", line, err)
		}
	}
	if !w.room.bytes.TryAcquire(w.limit) || !w.room.beyond.TryAcquire(1) {
		t.Error("clients that send nothing hold room")
	}
}

// TestMemoryIsBounded: the worst input, sent by more clients than have room at the same time. Each of them is answered.
func TestMemoryIsBounded(t *testing.T) {
	// Eight times the room of two reviews, and 40 times what is decoded: 420 MiB with the default limit.
	const limit = 2 << 20
	const most = 8*2*limit + 40*decoded
	w, _, _ := webhook(t, limit)
	w.wait = 10 * time.Minute // of a slow machine
	fill := func(what string, size int) string { return strings.Repeat(what, size/len(what)) }
	object := func(rest string) string { return gadget("v1", `,"spec":`+rest) }
	for name, body := range map[string]string{
		"numbers for objects":           reviewOf("u", "example.com/v1", fill("0,", limit-1<<10)+"0"),
		"small objects":                 reviewOf("u", "example.com/v1beta1", fill(object("{}")+",", limit-1<<10)+object("{}")),
		"an object of arrays":           reviewOf("u", "example.com/v1beta1", object("["+fill("[],", limit-1<<10)+"[]]")),
		"objects of maps":               reviewOf("u", "example.com/v1beta1", fill(object("["+fill("{},", 400<<10)+"{}]")+",", limit-1<<19)+object("{}")),
		"much to be put aside":          reviewOf("u", "example.com/v1beta1", fill(object(`{"size":"`+fill(`\"`, 200<<10)+`"}`)+",", limit-1<<10)+object("{}")),
		"deep":                          reviewOf("u", "example.com/v1beta1", object(fill("[", limit/3)+fill("]", limit/3))),
		"a review with a foreign field": `{"x":[` + fill("{},", limit-1<<10) + `{}]}`,
	} {
		runtime.GC()
		before := inUse()
		stop, highest := make(chan struct{}), make(chan uint64)
		go func() {
			peak := uint64(0)
			for {
				peak = max(peak, inUse())
				select {
				case <-stop:
					highest <- peak
					return
				case <-time.After(time.Millisecond):
				}
			}
		}()
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() {
				r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, Path, strings.NewReader(body))
				r.Header.Set("Content-Type", "application/json")
				out := &nowhere{header: http.Header{}}
				if w.ServeHTTP(out, r); out.code != http.StatusOK && out.code != http.StatusBadRequest {
					t.Errorf("%s: %d", name, out.code)
				}
			})
		}
		all.Wait()
		close(stop)
		used := int64(<-highest) - int64(before)
		t.Logf("%s: %d MiB", name, used>>20)
		if used > most {
			t.Errorf("%s: %d MiB in use, want at most %d", name, used>>20, most>>20)
		}
	}
}

// inUse returns how many bytes of the heap hold objects, garbage among them.
func inUse() uint64 {
	sample := []memory.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	memory.Read(sample)
	return sample[0].Value.Uint64()
}

// nowhere is a client that does not keep the answer.
type nowhere struct {
	header http.Header
	code   int
}

func (n *nowhere) Header() http.Header         { return n.header }
func (n *nowhere) Write(b []byte) (int, error) { n.WriteHeader(http.StatusOK); return len(b), nil }
func (n *nowhere) WriteHeader(code int)        { n.code = cmp.Or(n.code, code) }
