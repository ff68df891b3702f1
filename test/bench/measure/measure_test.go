package measure

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func line(user, stage, verb, resource, subresource, code, from, to string) string {
	return `{"kind":"Event","stage":"` + stage + `","verb":"` + verb + `","user":{"username":"` + user + `"},"objectRef":{"resource":"` + resource +
		`","subresource":"` + subresource + `"},"responseStatus":{"code":` + code + `},"requestReceivedTimestamp":"2026-01-01T00:00:` + from +
		`Z","stageTimestamp":"2026-01-01T00:00:` + to + `Z"}` + "\n"
}

func TestAudit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.log")
	log, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	a, err := FollowAudit(path, "me")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = a.Close() }()
	const done = "ResponseComplete"
	text := line("me", done, "create", "pods", "", "201", "01", "02") +
		line("me", done, "create", "services", "", "201", "02", "05") +
		line("me", done, "create", "pods", "", "409", "09", "09") +
		line("me", done, "patch", "tfjobs", "status", "200", "03", "03") +
		line("me", done, "get", "pods", "", "404", "03", "03") +
		line("me", done, "list", "pods", "", "200", "03", "03") +
		line("me", done, "update", "leases", "", "409", "03", "03") +
		line("me", "ResponseStarted", "watch", "pods", "", "200", "03", "03") +
		line("me", done, "watch", "pods", "", "200", "03", "03") +
		line("me", done, "get", "", "", "200", "03", "03") +
		line("somebody", done, "create", "pods", "me", "201", "03", "03") +
		line("me", done, "create", "events", "", "201", "03", "03")
	found := 0
	for _, part := range []string{text[:700], text[700:701], text[701:]} {
		if _, err := log.WriteString(part); err != nil {
			t.Fatal(err)
		}
		n, err := a.Update()
		if err != nil {
			t.Fatal(err)
		}
		found += n
	}
	if found != 9 {
		t.Errorf("%d requests", found)
	}
	want := Totals{Writes: 4, Events: 1, Conflicts: 1, Gets: 1, Lists: 1, Failures: 1, CreatedPods: 1}
	if diff := cmp.Diff(want, a.Totals()); diff != "" {
		t.Error(diff)
	}
	if rate := a.CreationRate(); rate != 0.5 {
		t.Errorf("two in four seconds are %v per second", rate)
	}
	a.Forget()
	if a.Totals() != (Totals{}) || a.CreationRate() != 0 {
		t.Error("it does not forget")
	}
}

func TestFootprint(t *testing.T) {
	const stat = "12 (a) 1 (b) S 1 12 12 0 -1 4194560 1 2 3 4 150 50 0 0 20 0 9 0 100 1 2 3"
	f, err := footprint([]byte(stat), []byte("Name:\tx\nVmHWM:\t  2048 kB\nVmRSS:\t  1024 kB\nThreads:\t9\n"))
	if want := (Footprint{CPU: 2 * time.Second, Resident: 1 << 20, Peak: 2 << 20, Threads: 9}); err != nil || f != want {
		t.Errorf("%+v, %v", f, err)
	}
	if _, err := footprint([]byte("nonsense"), nil); err == nil {
		t.Error("nonsense is read")
	}
	if f, err := FootprintOf(os.Getpid()); err != nil && !os.IsNotExist(err) || err == nil && (f.Peak < 1<<20 || f.Files < 3) {
		t.Errorf("our own: %+v, %v", f, err)
	}
}
