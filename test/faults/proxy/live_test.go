package proxy

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// TestLive: informers of client-go survive every fault of the proxy, on a real control plane.
func TestLive(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a control plane")
	}
	l := startLive(t)
	for name, test := range map[string]func(*testing.T, *live){
		"hold": liveHold, "cut": liveCut, "gone": liveGone, "as of": liveAsOf, "protobuf": liveProtobuf, "audit": liveAudit,
	} {
		t.Run(name, func(t *testing.T) { test(t, l) })
	}
}

func liveHold(t *testing.T, l *live) {
	p, config := l.proxied(t)
	o := observe(t, p, config, "held")
	p.Streams().Hold("configmaps")
	l.store(t, "held", "1")
	l.store(t, "held", "2")
	awaitParked(t, p, 2)
	if o.seen() != "" {
		t.Errorf("saw %s", o.seen())
	}
	p.Streams().Release("configmaps")
	o.awaits(t, "add 1, update 2")
}

func liveCut(t *testing.T, l *live) {
	p, config := l.proxied(t)
	o := observe(t, p, config, "cut")
	l.store(t, "cut", "1")
	o.awaits(t, "add 1")
	p.Streams().Cut("configmaps")
	l.store(t, "cut", "2")
	l.store(t, "cut", "3")
	o.awaits(t, "add 1, update 2, update 3")
	if last := lastList(p); last.Verb != "watch" || last.Query.Get("resourceVersion") == "" || isTrue(last.Query.Get("sendInitialEvents")) {
		t.Errorf("it went on with %s %v", last.Verb, last.Query)
	}
}

func lastList(p *Proxy) Entry {
	all := p.Lists()
	return all[len(all)-1]
}

// relisted reports whether a list, or a watch with initial events, followed the first n entries.
func relisted(p *Proxy, n int) bool {
	return slices.ContainsFunc(p.Lists()[n:], func(e Entry) bool { return e.Verb == "list" || isTrue(e.Query.Get("sendInitialEvents")) })
}

func liveGone(t *testing.T, l *live) {
	p, config := l.proxied(t)
	l.store(t, "gone", "1")
	o := observe(t, p, config, "gone")
	o.awaits(t, "add 1")
	n := len(p.Lists())
	p.Streams().Hold("configmaps")
	l.store(t, "gone", "2")
	l.store(t, "gone", "3")
	awaitParked(t, p, 2)
	p.Streams().Expire("configmaps")
	o.awaits(t, "add 1, update 3")
	if !relisted(p, n) {
		t.Errorf("it did not list again: %v", p.Lists()[n:])
	}
}

func liveAsOf(t *testing.T, l *live) {
	l.store(t, "past", "1")
	version := l.store(t, "past", "2")
	l.store(t, "past", "3")
	if err := l.admin.CoreV1().ConfigMaps(ns).Delete(context.Background(), "past", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	l.store(t, "past", "4")
	p, config := l.proxied(t)
	p.Streams().AsOf(version)
	o := observe(t, p, config, "past")
	o.awaits(t, "add 2")
	awaitParked(t, p, 3)
	object, err := kubernetes.NewForConfigOrDie(config).CoreV1().ConfigMaps(ns).Get(context.Background(), "past", metav1.GetOptions{})
	if err != nil || object.Data["value"] != "4" {
		t.Errorf("a GET is not live: %v, %v", object, err)
	}
	if o.seen() != "add 2" {
		t.Errorf("saw %s", o.seen())
	}
	p.Streams().Present()
	o.awaits(t, "add 2, update 3, delete 3, add 4")
}

// liveProtobuf: a client that prefers protobuf gets JSON, and its writes are understood.
func liveProtobuf(t *testing.T, l *live) {
	p, config := l.proxied(t)
	track := p.Follow("proto")
	config.ContentType = "application/vnd.kubernetes.protobuf"
	config.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	o := observe(t, p, config, "proto-0")
	client := kubernetes.NewForConfigOrDie(config)
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "proto-0"}, Data: map[string]string{"value": "1"}}
	if _, err := client.CoreV1().ConfigMaps(ns).Create(context.Background(), object, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	o.awaits(t, "add 1")
	uid := metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions("another")}
	if err := client.CoreV1().ConfigMaps(ns).Delete(context.Background(), "proto-0", uid); err == nil {
		t.Error("another was deleted")
	}
	entries := track.Journal()
	if len(entries) != 2 || entries[0].Code != 201 || entries[1].Code != 409 || !strings.Contains(string(entries[1].Request.Body), `"uid":"another"`) || !json.Valid(entries[0].Request.Body) {
		t.Errorf("journal %+v", entries)
	}
}

// liveAudit: the journal has the same writes as the API server's audit log of the same user.
func liveAudit(t *testing.T, l *live) {
	p, config := l.proxied(t)
	track := p.Follow("audited")
	maps := kubernetes.NewForConfigOrDie(config).CoreV1().ConfigMaps(ns)
	acts := []Act{nil, Drop{}, Reset{}, Refuse{Code: 500}, After{Do: func() {}}, Before{Do: func() {}}, Along{Do: func() {}}}
	ctx := context.Background()
	for i := range 40 { // four acts of seven forward: none, Drop, After and Along
		object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("audited-%d", i%10)}, Data: map[string]string{"value": fmt.Sprint(i)}}
		track.Lift()
		if act := acts[i%len(acts)]; act != nil {
			track.Inject(Fault{Act: act})
		}
		switch i / 10 {
		case 0, 1: // the second ten find some that exist
			_, _ = maps.Create(ctx, object, metav1.CreateOptions{})
		case 2:
			_, _ = maps.Update(ctx, object, metav1.UpdateOptions{})
		default:
			_ = maps.Delete(ctx, object.Name, metav1.DeleteOptions{})
		}
	}
	var want []string
	for _, e := range track.Journal() {
		if e.Forwarded {
			want = append(want, fmt.Sprintf("%s %s %d", e.Verb, e.Namespace, e.Code))
		}
	}
	if len(want) != 23 || track.Writes() != 40 {
		t.Errorf("%d of %d writes were forwarded, not 23 of 40", len(want), track.Writes())
	}
	var got []string
	await(t, "the audit log", func() bool { got = l.audited(t, "/configmaps"); return len(got) >= len(want) })
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the journal (-) is not the audit log (+):\n%s", diff)
	}
}

// audited returns the user's writes about objects called audited.
func (l *live) audited(t *testing.T, path string) []string {
	t.Helper()
	text, err := os.ReadFile(l.cluster.AuditLog())
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for line := range bytes.Lines(text) {
		var a struct {
			Verb, RequestURI string
			User             struct{ Username string }
			ObjectRef        struct{ Namespace, Name string }
			ResponseStatus   struct{ Code int }
		}
		if json.Unmarshal(line, &a) != nil || a.User.Username != user || !strings.Contains(a.RequestURI, path) {
			continue
		}
		if slices.Contains([]string{"create", "update", "delete"}, a.Verb) && strings.HasPrefix(a.ObjectRef.Name, "audited-") {
			found = append(found, fmt.Sprintf("%s %s %d", a.Verb, a.ObjectRef.Namespace, a.ResponseStatus.Code))
		}
	}
	return found
}
