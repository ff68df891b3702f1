package integration

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"stoic/test/operator"
)

// request is a request to the API server while a webhook does not answer as it should, and what happens to it.
type request struct {
	name string
	do   func(ctx context.Context) error
	// fails: it needs the webhook. asks: it calls the webhook and does without an answer, so it may take as long as the API
	// server waits. list: since 1.37 it calls the webhook for each object. If the webhook does not answer, the request timeout of
	// the API server ends it.
	fails, asks, list bool
}

// webhookFails: the webhook of a kind is killed, has a certificate of another authority, has an expired one, and does not answer
// at all. Each time exactly the requests fail that docs/versions.md names, and none for other kinds or in other namespaces. When
// the cause is removed everything recovers by itself.
func (k *servedKind) webhookFails(t, whole *testing.T, r *rig, others []*servedKind) {
	if k.objects == 0 {
		t.Skip("the kind has not got so far")
	}
	old := k.Versions[0].Name
	for name, version := range map[string]string{"stored": k.Hub, "by-old": old, "edited-1": old, "edited-2": old, "edited-3": old, "edited-4": old} {
		k.create(t, version, name)
		k.objects++
	}
	checks := 0
	check := func(when, why string) {
		t.Helper()
		checks++
		t.Run(when, func(t *testing.T) { k.failing(t, r, why, fmt.Sprint("edited-", checks), others) })
	}
	restart := func() {
		t.Helper()
		k.process = operator.Started(whole, k.webhook.Options)
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		if err := k.process.AwaitReady(ctx); err != nil {
			t.Fatal(err)
		}
	}
	kill := func() {
		t.Helper()
		if err := k.process.Kill(); err != nil {
			t.Fatal(err)
		}
	}

	kill()
	check("killed", "connection refused")
	k.deletesCorrupt(t)
	restart()
	k.listed(t, "after a restart of the webhook")

	kill()
	k.certify(t, time.Now())
	restart()
	check("a certificate that another authority has signed", "certificate signed by unknown authority")

	kill()
	k.trust(t, r, k.certify(t, time.Now().Add(-3*time.Hour)))
	restart()
	k.awaitFailure(t, "certificate has expired")
	check("a certificate that has ended", "certificate has expired")

	k.trust(t, r, k.certify(t, time.Now())) // it is reloaded, without a restart
	k.listed(t, "with a certificate that was renewed")

	if err := k.process.Pause(); err != nil {
		t.Skip(err)
	}
	check("no answer", "")
	if err := k.process.Resume(); err != nil {
		t.Fatal(err)
	}
	k.listed(t, "with a webhook that answers again")
}

// deletesCorrupt: since 1.37 the API server treats an object that it cannot convert as corrupt. A DELETE with the option
// ignoreStoreReadErrorWithClusterBreakingPotential removes it and ignores its finalizers.
func (k *servedKind) deletesCorrupt(t *testing.T) {
	t.Helper()
	if release() != "" {
		return
	}
	name, old, ctx := "corrupt", k.resource(k.Versions[0].Name), t.Context()
	u := k.object(map[string]any{"metadata": map[string]any{"finalizers": []any{"test.invalid/stays"}}, "spec": k.spec(t, k.Hub)}, k.Hub, name)
	if _, err := k.resource(k.Hub).Create(ctx, u, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := old.Delete(ctx, name, metav1.DeleteOptions{}); err == nil || !strings.Contains(err.Error(), "conversion webhook for ") {
		t.Errorf("deletion as %s: %v", k.Versions[0].Name, err)
	}
	if err := old.Delete(ctx, name, metav1.DeleteOptions{IgnoreStoreReadErrorWithClusterBreakingPotential: new(true)}); err != nil {
		t.Errorf("deletion of a corrupt object: %v", err)
	}
	if _, err := k.resource(k.Hub).Get(ctx, name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("after the deletion: %v, want 404, although it had a finalizer", err)
	}
}

// trust makes the CRD trust an authority from now on.
func (k *servedKind) trust(t *testing.T, r *rig, authority []byte) {
	t.Helper()
	r.patchDefinition(t, k.plural+"."+k.Group, `[{"op":"replace","path":"/spec/conversion/webhook/clientConfig/caBundle","value":"`+base64.StdEncoding.EncodeToString(authority)+`"}]`)
}

// awaitFailure waits until reads in another version than the stored one fail: a changed CRD takes effect a moment later.
func (k *servedKind) awaitFailure(t *testing.T, why string) {
	t.Helper()
	await(t, "reads to fail: "+why, func() (bool, string) {
		_, err := k.resource(k.Versions[0].Name).Get(t.Context(), "stored", metav1.GetOptions{})
		return err != nil && strings.Contains(err.Error(), why), fmt.Sprint(err)
	})
}

func (k *servedKind) create(t *testing.T, version, name string) {
	t.Helper()
	u := k.object(map[string]any{"metadata": map[string]any{}, "spec": k.spec(t, version)}, version, name)
	if _, err := k.resource(version).Create(t.Context(), u, metav1.CreateOptions{FieldManager: "test"}); err != nil {
		t.Fatal(err)
	}
}

// failing: exactly the requests that need the webhook fail, with the given reason. There is an object of that name, with a field
// manager of another version.
func (k *servedKind) failing(t *testing.T, r *rig, why, edited string, others []*servedKind) {
	// An API server gives up after 10 s if it has to connect first, after 30 s if it has a connection. Which request gets the
	// connection is chance. Since 1.37 a list from etcd does not stop at the first object that it cannot convert: the API server
	// calls the webhook for the next object, until its request timeout of 60 s.
	const requestTimeout = 60 * time.Second
	const limit = 3 * time.Minute
	// This change makes the watch cache stale, so that every list in another version reads etcd and calls the webhook.
	if err := annotate(t.Context(), k, "changed"); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	timed := map[string]time.Duration{} // the requests that need no webhook
	var all sync.WaitGroup
	for _, q := range append(k.requests(t, r, edited), bystanders(t, r, others)...) {
		all.Go(func() {
			timesOut, most := q.list && why == "" && release() == "", limit
			if timesOut {
				most += requestTimeout
			}
			ctx, cancel := context.WithTimeout(t.Context(), most)
			defer cancel()
			began := time.Now()
			err := q.do(ctx)
			took := time.Since(began)
			switch {
			case q.fails && err == nil:
				t.Errorf("%s: needs no webhook", q.name)
			case timesOut: // 429 if the watch cache was reinitialized before the list came
				if !apierrors.IsTimeout(err) && !apierrors.IsTooManyRequests(err) {
					t.Errorf("%s: %v after %v, want the API server's request timeout", q.name, err, took)
				}
			case q.fails && (!strings.Contains(err.Error(), "conversion webhook for ") || !strings.Contains(err.Error(), why)):
				t.Errorf("%s: %v, want %s", q.name, err, why)
			case !q.fails && err != nil:
				t.Errorf("%s: %v", q.name, err)
			case !q.fails && !q.asks:
				mu.Lock()
				defer mu.Unlock()
				timed[q.name] = took
			}
		})
	}
	slowest := r.slowestRequest(t)
	all.Wait()
	for name, took := range timed {
		if took > 20*time.Second+100*slowest { // a request that asks the webhook waits for it, whatever the machine does
			t.Errorf("%s: took %v, and %v was the longest that a ConfigMap took", name, took, slowest)
		}
	}
}

// slowestRequest returns how long the slowest of some requests took that concern no custom resource.
func (r *rig) slowestRequest(t *testing.T) (slowest time.Duration) {
	t.Helper()
	for range 20 {
		began := time.Now()
		if _, err := r.typed.CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "timed-"}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		slowest = max(slowest, time.Since(began))
	}
	return slowest
}

// requests returns those for objects that are stored in the hub, in the hub and in another version.
func (k *servedKind) requests(t *testing.T, r *rig, edited string) (all []request) {
	spec := map[string]any{}
	for _, version := range k.all()[:2] {
		spec[version] = k.spec(t, version)
	}
	label := fmt.Appendf(nil, `{"metadata":{"labels":{"seen":"%d"}}}`, time.Now().UnixNano())
	for _, version := range k.all()[:2] {
		in, other := k.resource(version), version != k.Hub
		made := func(name string) *unstructured.Unstructured {
			return k.object(map[string]any{"metadata": map[string]any{}, "spec": spec[version]}, version, name)
		}
		applied := &unstructured.Unstructured{Object: map[string]any{"apiVersion": k.Group + "/" + version, "kind": k.Name, "metadata": map[string]any{"name": "stored", "labels": map[string]any{"applied": "yes"}}}}
		add := func(name string, fails bool, do func(ctx context.Context) error) {
			all = append(all, request{name: name + " in " + version, do: do, fails: fails, list: fails && name == "list"})
		}
		add("get", other, func(ctx context.Context) error { _, err := in.Get(ctx, "stored", metav1.GetOptions{}); return err })
		add("list", other, func(ctx context.Context) error { _, err := in.List(ctx, metav1.ListOptions{}); return err })
		add("create, delete", other, func(ctx context.Context) error {
			if _, err := in.Create(ctx, made("made"), metav1.CreateOptions{}); err != nil {
				return err
			}
			return in.Delete(ctx, "made", metav1.DeleteOptions{})
		})
		add("merge patch", other, func(ctx context.Context) error {
			_, err := in.Patch(ctx, "stored", types.MergePatchType, label, metav1.PatchOptions{})
			return err
		})
		add("apply", other, func(ctx context.Context) error {
			_, err := in.Apply(ctx, "stored", applied, metav1.ApplyOptions{FieldManager: "applies"})
			return err
		})
	}
	hub := k.resource(k.Hub)
	applied := &unstructured.Unstructured{Object: map[string]any{"apiVersion": k.Group + "/" + k.Hub, "kind": k.Name, "metadata": map[string]any{"name": "by-old", "labels": map[string]any{"applied": "yes"}}}}
	return append(all,
		request{name: "watch in " + k.Hub, do: func(ctx context.Context) error { return watched(ctx, k, k.Hub) }},
		request{name: "get of an object with a field manager of another version", do: func(ctx context.Context) error {
			_, err := hub.Get(ctx, "by-old", metav1.GetOptions{})
			return err
		}},
		request{name: "apply of an object with a field manager of another version", fails: true, do: func(ctx context.Context) error {
			_, err := hub.Apply(ctx, "by-old", applied, metav1.ApplyOptions{FieldManager: "applies"})
			return err
		}},
		request{name: "merge patch of an object with a field manager of another version", asks: true, do: func(ctx context.Context) error { return k.patchedBesides(ctx, edited) }},
		request{name: "deletion of a namespace", do: func(ctx context.Context) error { return k.namespaceGoes(ctx, r, spec[k.Hub]) }},
	)
}

// patchedBesides: if an API server cannot convert what a field manager of another version owns, it does not record who has
// patched the object. Since 1.37 it keeps the existing field managers; before, it drops all of them.
func (k *servedKind) patchedBesides(ctx context.Context, name string) error {
	hub := k.resource(k.Hub)
	before, err := hub.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	want := before.GetManagedFields()
	if release() != "" {
		want = nil
	}
	got, err := hub.Patch(ctx, name, types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"labels":{"seen":"%d"}}}`, time.Now().UnixNano()), metav1.PatchOptions{FieldManager: "patches"})
	if err == nil && !reflect.DeepEqual(got.GetManagedFields(), want) {
		err = fmt.Errorf("field managers %v, want %v", got.GetManagedFields(), want)
	}
	return err
}

// annotate annotates, in the hub, an object that is stored in the hub.
func annotate(ctx context.Context, k *servedKind, name string) error {
	_, err := k.resource(k.Hub).Patch(ctx, "stored", types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"annotations":{%q:"%d"}}}`, name, time.Now().UnixNano()), metav1.PatchOptions{})
	return err
}

// watched: a watch observes an object that is created in the hub.
func watched(ctx context.Context, k *servedKind, version string) error {
	list, err := k.resource(version).List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return err
	}
	w, err := k.resource(version).Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=stored", ResourceVersion: list.GetResourceVersion()})
	if err != nil {
		return err
	}
	defer w.Stop()
	if err := annotate(ctx, k, "at"); err != nil {
		return err
	}
	select {
	case e, ok := <-w.ResultChan():
		if u, is := e.Object.(*unstructured.Unstructured); !ok || !is || u.GetName() != "stored" {
			return fmt.Errorf("a watch has ended: %v", e)
		}
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// namespaceGoes: a namespace with an object of the kind is deleted.
func (k *servedKind) namespaceGoes(ctx context.Context, r *rig, spec any) error {
	name := fmt.Sprintf("goes-%d", time.Now().UnixNano())
	out, err := r.tryKubectl(nil, "create", "namespace", name)
	if err != nil {
		return errors.New(out)
	}
	u := k.object(map[string]any{"metadata": map[string]any{}, "spec": spec}, k.Hub, "inside")
	if _, err := k.in(r, k.Hub).Namespace(name).Create(ctx, u, metav1.CreateOptions{}); err != nil {
		return err
	}
	if err := r.typed.CoreV1().Namespaces().Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
		return err
	}
	for {
		if _, err := r.typed.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{}); apierrors.IsNotFound(err) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the namespace is still there: %w", ctx.Err())
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// bystanders returns requests for objects of other kinds, in all their versions.
func bystanders(t *testing.T, r *rig, others []*servedKind) (all []request) {
	for _, k := range others {
		if k.objects == 0 { // its test was not selected
			continue
		}
		for _, version := range k.all() {
			all = append(all, request{name: "list of " + k.plural + " in " + version, do: func(ctx context.Context) error {
				list, err := k.resource(version).List(ctx, metav1.ListOptions{})
				if err == nil && len(list.Items) != k.objects {
					err = fmt.Errorf("%d of %d objects", len(list.Items), k.objects)
				}
				return err
			}})
		}
	}
	return append(all, request{name: "list of pods", do: func(ctx context.Context) error {
		_, err := r.typed.CoreV1().Pods("").List(ctx, metav1.ListOptions{})
		return err
	}})
}
