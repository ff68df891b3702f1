package conversion

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	goruntime "runtime"
	memory "runtime/metrics"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"stoic/convert/versions"
)

func kinds() []versions.Kind {
	return []versions.Kind{{Group: "example.com", Name: "Gadget", Hub: "v1", Annotation: "example.com/conversion", Versions: []versions.Version{
		{Name: "v1beta1", Moves: []versions.Move{{Here: "spec.mode", Hub: "spec.type"}}, HubOnly: []string{"spec.size"}}}}}
}

func webhook(t testing.TB, limit int64) (*Webhook, *prometheus.Registry, *observer.ObservedLogs) {
	t.Helper()
	registry := prometheus.NewRegistry()
	core, lines := observer.New(zap.WarnLevel)
	w, err := New(Options{Kinds: kinds(), Registry: registry, Prefix: "gadget_operator", Log: zap.New(core), Limit: limit})
	if err != nil {
		t.Fatal(err)
	}
	return w, registry, lines
}

func reviewOf(uid, to string, objects ...string) string {
	return fmt.Sprintf(`{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","request":{"uid":%q,"desiredAPIVersion":%q,"objects":[%s]}}`, uid, to, strings.Join(objects, ","))
}

func gadget(version, rest string) string {
	return `{"apiVersion":"example.com/` + version + `","kind":"Gadget","metadata":{"name":"a"}` + rest + `}`
}

func post(w http.Handler, body io.Reader, contentType string) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(context.Background(), http.MethodPost, Path, body)
	r.Header.Set("Content-Type", contentType)
	out := httptest.NewRecorder()
	w.ServeHTTP(out, r)
	return out
}

// answerTo returns the answer to a review, read as an API server reads it: see versions.md.
func answerTo(t testing.TB, w http.Handler, review string) *apiextensionsv1.ConversionResponse {
	t.Helper()
	out := post(w, strings.NewReader(review), "application/json; charset=utf-8")
	if out.Code != http.StatusOK || out.Header().Get("Content-Type") != "application/json" {
		t.Fatalf("%d %s: %s", out.Code, out.Header(), out.Body)
	}
	var got apiextensionsv1.ConversionReview
	if err := json.Unmarshal(out.Body.Bytes(), &got); err != nil || got.Response == nil || got.APIVersion != "apiextensions.k8s.io/v1" || got.Kind != "ConversionReview" {
		t.Fatalf("%v, %s", err, out.Body)
	}
	return got.Response
}

func texts(objects []runtime.RawExtension) (all []string) {
	for _, o := range objects {
		all = append(all, string(o.Raw))
	}
	return all
}

// TestReview: the same UID, order and number, whatever is in the objects.
func TestReview(t *testing.T) {
	w, registry, lines := webhook(t, 0)
	got := answerTo(t, w, reviewOf("u-1", "example.com/v1beta1", gadget("v1", `,"spec":{"type":"Copy","size":3}`), gadget("v1", `,"spec":{"type":7}`),
		gadget("v1", `,"spec":"text"`), gadget("v1beta1", `,"spec":{"mode":"Link"}`), `{"apiVersion":"example.com/v1","kind":"Gadget"}`))
	want := []string{
		`{"apiVersion":"example.com/v1beta1","kind":"Gadget","metadata":{"annotations":{"example.com/conversion":"{\"v1\":{\"lost\":{\"spec\":{\"size\":3}}}}"},"name":"a"},"spec":{"mode":"Copy"}}`,
		`{"apiVersion":"example.com/v1beta1","kind":"Gadget","metadata":{"name":"a"},"spec":{"mode":7}}`,
		`{"apiVersion":"example.com/v1beta1","kind":"Gadget","metadata":{"name":"a"},"spec":"text"}`,
		`{"apiVersion":"example.com/v1beta1","kind":"Gadget","metadata":{"name":"a"},"spec":{"mode":"Link"}}`,
		`{"apiVersion":"example.com/v1beta1","kind":"Gadget"}`,
	}
	if diff := cmp.Diff(want, texts(got.ConvertedObjects)); diff != "" || got.UID != "u-1" || got.Result.Status != metav1.StatusSuccess {
		t.Errorf("%s of %s, -want +got:\n%s", got.Result.Status, got.UID, diff)
	}
	if empty := answerTo(t, w, reviewOf(`"\u2028`, "example.com/v1")); len(empty.ConvertedObjects) != 0 || empty.UID != `"\u2028` || empty.Result.Status != metav1.StatusSuccess {
		t.Errorf("a review of no objects: %+v", empty)
	}
	if err := testutil.GatherAndCompare(registry, strings.NewReader(`
# HELP gadget_operator_conversion_objects_total Objects that API servers asked for in another version, by outcome: converted, passed_through (only apiVersion changed), not_kept (the API server would refuse the annotation), panicked (a defect), cut (its review is nested deeper than can be read, and what is below is left out), refused (not of these kinds).
# TYPE gadget_operator_conversion_objects_total counter
gadget_operator_conversion_objects_total{from="v1",kind="Gadget",outcome="converted",to="v1beta1"} 3
gadget_operator_conversion_objects_total{from="v1",kind="Gadget",outcome="passed_through",to="v1beta1"} 1
gadget_operator_conversion_objects_total{from="v1beta1",kind="Gadget",outcome="converted",to="v1beta1"} 1
`), "gadget_operator_conversion_objects_total"); err != nil {
		t.Error(err)
	}
	if n := lines.FilterField(zap.String("outcome", "passed_through")).Len(); n != 1 {
		t.Errorf("%d log lines", n)
	}
}

// TestNotOurs: a kind or version that is not converted here fails with a message, as the API defines it.
func TestNotOurs(t *testing.T) {
	w, registry, _ := webhook(t, 0)
	for want, review := range map[string]string{
		`objects[0]: found kind "Widget" of group "example.com", which is not converted here`: reviewOf("u", "example.com/v1", `{"apiVersion":"example.com/v1","kind":"Widget"}`),
		`objects[1]: found kind "Gadget" of group "apps"`:                                     strings.Replace(reviewOf("u", "apps/v1", gadget("v1", ""), gadget("v1", "")), "objects[0]", "", 1),
		`objects[0]: found version "v7" of Gadget, must be one of v1, v1beta1`:                reviewOf("u", "example.com/v7", gadget("v1", "")),
		`objects[0]: found version "v8" of Gadget`:                                            reviewOf("u", "example.com/v1", gadget("v8", "")),
		`objects[0]: found apiVersion "apps/v1" and kind "Gadget"`:                            reviewOf("u", "example.com/v1", `{"apiVersion":"apps/v1","kind":"Gadget"}`),
		`objects[0]: must be an object`:                                                       reviewOf("u", "example.com/v1", `"secret"`),
		`objects[0]: must be an object `:                                                      reviewOf("u", "example.com/v1", `null`),
		`objects[0]: found kind "" of group ""`:                                               reviewOf("u", "", `{}`),
	} {
		want = strings.ReplaceAll(strings.TrimSpace(want), "objects[1]", "objects[0]")
		got := answerTo(t, w, review)
		if got.Result.Status != metav1.StatusFailure || !strings.HasPrefix(got.Result.Message, want) || got.UID != "u" || len(got.ConvertedObjects) > 0 || strings.Contains(got.Result.Message, "secret") {
			t.Errorf("%+v, want %s", got, want)
		}
	}
	if n := testutil.ToFloat64(w.metrics.requests.WithLabelValues(resultFailed)); n != 8 {
		t.Errorf("%v failed", n)
	}
	if problems, err := testutil.GatherAndLint(registry); err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
}

// slow is a body whose length is not known, and that ends with an error.
type slow struct{ io.Reader }

func (s slow) Read(b []byte) (int, error) {
	n, err := s.Reader.Read(b)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// TestRefused: requests that are not a review.
func TestRefused(t *testing.T) {
	w, _, _ := webhook(t, 1000)
	long := reviewOf("u", "example.com/v1", gadget("v1", `,"spec":"`+strings.Repeat("x", 1000)+`"`))
	for name, test := range map[string]struct {
		body              io.Reader
		contentType, says string
		code              int
	}{
		"no JSON":              {strings.NewReader("{"), "application/json", "must be a ConversionReview", 400},
		"nothing":              {strings.NewReader(""), "application/json", "must be a ConversionReview", 400},
		"a list":               {strings.NewReader("[]"), "application/json", "must be a ConversionReview", 400},
		"null":                 {strings.NewReader("null"), "application/json", `found "" of ""`, 400},
		"bytes":                {bytes.NewReader([]byte{0, 0xff, 0xfe}), "application/json", "must be a ConversionReview", 400},
		"too deep":             {strings.NewReader(strings.Repeat("[", 900)), "application/json", "must be a ConversionReview", 400},
		"another review":       {strings.NewReader(`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{}}`), "application/json", `found "AdmissionReview" of "admission.k8s.io/v1", must be ConversionReview of apiextensions.k8s.io/v1`, 400},
		"an old review":        {strings.NewReader(`{"apiVersion":"apiextensions.k8s.io/v1beta1","kind":"ConversionReview","request":{}}`), "application/json", "must be ConversionReview of apiextensions.k8s.io/v1", 400},
		"no request":           {strings.NewReader(`{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview"}`), "application/json", "it has no request", 400},
		"wrong types":          {strings.NewReader(`{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","request":{"objects":7}}`), "application/json", "must be a ConversionReview", 400},
		"YAML":                 {strings.NewReader("a: b"), "application/yaml", "must be application/json", 415},
		"no content type":      {strings.NewReader("{}"), "", "must be application/json", 415},
		"odd content type":     {strings.NewReader("{}"), "application/json; =", "must be application/json", 415},
		"protobuf":             {strings.NewReader("k8s\x00"), "application/vnd.kubernetes.protobuf", "must be application/json", 415},
		"too large":            {strings.NewReader(long), "application/json", "must have at most 1000 bytes", 413},
		"too large, not said":  {struct{ io.Reader }{strings.NewReader(long)}, "application/json", "must have at most 1000 bytes", 413},
		"ends early, not said": {slow{strings.NewReader(`{"apiVersion"`)}, "application/json", "cannot be read", 400},
	} {
		if got := post(w, test.body, test.contentType); got.Code != test.code || !strings.Contains(got.Body.String(), test.says) || got.Body.Len() > 1000 {
			t.Errorf("%s: %d %s, want %d %s", name, got.Code, got.Body, test.code, test.says)
		}
	}
	get := httptest.NewRecorder()
	w.ServeHTTP(get, httptest.NewRequestWithContext(context.Background(), http.MethodGet, Path, nil))
	if get.Code != http.StatusMethodNotAllowed || get.Header().Get("Allow") != "POST" {
		t.Errorf("GET: %d", get.Code)
	}
	if n := testutil.ToFloat64(w.metrics.requests.WithLabelValues(resultRefused)); n != 18 {
		t.Errorf("%v refused", n)
	}
}

// TestTooManyAtATime: a client that comes when there is no room waits until there is, or leaves.
func TestTooManyAtATime(t *testing.T) {
	w, _, _ := webhook(t, 1000)
	full := place{room: &w.room}
	if full.take(t.Context(), 1000) != nil || full.take(t.Context(), 1) != nil || !full.beyond {
		t.Fatal("an empty room has no place")
	}
	ctx, leave := context.WithCancel(context.Background())
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, Path, strings.NewReader(reviewOf("u", "example.com/v1")))
	r.Header.Set("Content-Type", "application/json")
	leave()
	out := httptest.NewRecorder()
	if w.ServeHTTP(out, r); out.Code != http.StatusServiceUnavailable {
		t.Errorf("%d %s", out.Code, out.Body)
	}
	answers := make(chan int)
	go func() {
		answers <- post(w, strings.NewReader(reviewOf("u", "example.com/v1")), "application/json").Code
	}()
	full.giveBack()
	if code := <-answers; code != http.StatusOK {
		t.Errorf("with room: %d", code)
	}
}

// TestDeepObject: an object of as many levels as an API server stores has more inside of a review than can be read. It is read without
// what is too deep, and the others as they are, so that a list of all of them can be read; so is the answer.
func TestDeepObject(t *testing.T) {
	w, _, lines := webhook(t, 0)
	for levels, want := range map[int]string{8_000: string(versions.Converted), 9_998: outcomeCut, 10_000: outcomeCut} {
		deep := strings.Repeat("[", levels-1) + strings.Repeat("]", levels-1) // the object is one level
		for _, where := range []string{"other", "spec"} {
			before := testutil.ToFloat64(w.metrics.objects.WithLabelValues("Gadget", "v1", "v1beta1", want))
			got := answerTo(t, w, reviewOf("u", "example.com/v1beta1", gadget("v1", `,"`+where+`":`+deep)))
			if got.Result.Status != metav1.StatusSuccess || len(got.ConvertedObjects) != 1 || !strings.Contains(string(got.ConvertedObjects[0].Raw), `"apiVersion":"example.com/v1beta1"`) {
				t.Errorf("%d levels: %+v", levels, got.Result)
			}
			if n := testutil.ToFloat64(w.metrics.objects.WithLabelValues("Gadget", "v1", "v1beta1", want)); n != before+1 {
				t.Errorf("%d levels: not %s", levels, want)
			}
		}
	}
	if lines.FilterField(zap.String("why", "what is nested deeper than can be read is left out")).Len() != 1 {
		t.Errorf("%v", lines.All())
	}
}

// TestLogIsBounded: what is refused is repeated only up to a limit.
func TestLogIsBounded(t *testing.T) {
	w, _, lines := webhook(t, 0)
	long := strings.Repeat("\u2028long", 100_000)
	got := answerTo(t, w, reviewOf("u", "example.com/"+long, gadget("v1", "")))
	if len(got.Result.Message) > 1000 || lines.Len() != 1 || len(fmt.Sprint(lines.All()[0].ContextMap())) > 500 || strings.Contains(fmt.Sprint(lines.All()[0].ContextMap()), "\u2028") {
		t.Errorf("%.2000s\n%.2000v", got.Result.Message, lines.All())
	}
}

func TestWrongKinds(t *testing.T) {
	twice, bad := append(kinds(), kinds()...), kinds()
	bad[0].Hub = ""
	for want, k := range map[string][]versions.Kind{"the versions of Gadget: found twice": twice, "a kind has a group, a name and a hub": bad} {
		if _, err := New(Options{Kinds: k, Registry: prometheus.NewRegistry(), Prefix: "p", Log: zap.NewNop()}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// FuzzWebhook: any bytes get an answer that the API defines, or 4xx.
func FuzzWebhook(f *testing.F) {
	for _, seed := range []string{"", "{", "null", "7", reviewOf("u", "example.com/v1", gadget("v1beta1", `,"spec":{"mode":1e999}`)),
		reviewOf("u", "example.com/v1beta1", gadget("v1", `,"spec":{"type":"Copy","size":3}`)), reviewOf("u", "x", "7", "null"),
		`{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","request":{"uid":7}}`} {
		f.Add([]byte(seed))
	}
	w, _, _ := webhook(f, 1<<20)
	f.Fuzz(func(t *testing.T, body []byte) {
		out := post(w, bytes.NewReader(body), "application/json")
		if out.Code == http.StatusBadRequest {
			return
		}
		var asked, got apiextensionsv1.ConversionReview
		if err := json.Unmarshal(out.Body.Bytes(), &got); err != nil || out.Code != http.StatusOK || got.Response == nil {
			t.Fatalf("%v, %d %s", err, out.Code, out.Body)
		}
		if err := json.Unmarshal(body, &asked); err != nil || asked.Request == nil {
			return // such as keys in another case, which only this decoder takes
		}
		if got.Response.Result.Status == metav1.StatusSuccess && len(got.Response.ConvertedObjects) != len(asked.Request.Objects) {
			t.Fatalf("%d of %d objects", len(got.Response.ConvertedObjects), len(asked.Request.Objects))
		}
	})
}

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
	const limit = 1 << 20
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
		goruntime.GC()
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

func (n *nowhere) WriteHeader(code int) {
	if n.code == 0 {
		n.code = code
	}
}
