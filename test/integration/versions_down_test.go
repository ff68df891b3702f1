package integration

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"stoic/test/operator"
)

// request is a request to the API server while a webhook does not answer as it should; fails says that it needs the webhook.
type request struct {
	name  string
	do    func(ctx context.Context) error
	fails bool
}

// webhookFails: the webhook of a kind is killed, and has a certificate that has expired. Each time exactly the requests fail that docs/versions.md names, and none for other kinds or in other namespaces. When
// the cause is removed everything recovers by itself.
func (k *servedKind) webhookFails(t, whole *testing.T, r *rig, others []*servedKind) {
	if k.objects == 0 {
		t.Skip("the kind has not got so far")
	}
	old := k.Versions[0].Name
	for name, version := range map[string]string{"stored": k.Hub, "by-old": old} {
		k.create(t, version, name)
		k.objects++
	}
	check := func(when, why string) {
		t.Helper()
		t.Run(when, func(t *testing.T) { k.failing(t, r, why, others) })
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
	restart()
	k.listed(t, "after a restart of the webhook")

	kill()
	k.trust(t, r, k.certify(t, time.Now().Add(-3*time.Hour)))
	restart()
	k.awaitFailure(t, "certificate has expired")
	check("a certificate that has ended", "certificate has expired")

	k.trust(t, r, k.certify(t, time.Now())) // it is reloaded, without a restart
	k.listed(t, "with a certificate that was renewed")
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

// failing: exactly the requests that need the webhook fail, with the given reason.
func (k *servedKind) failing(t *testing.T, r *rig, why string, others []*servedKind) {
	// This change makes the watch cache stale, so that every list in another version reads etcd and calls the webhook.
	if err := annotate(t.Context(), k, "changed"); err != nil {
		t.Fatal(err)
	}
	for _, q := range append(k.requests(t), bystanders(t, r, others)...) {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		err := q.do(ctx)
		cancel()
		switch {
		case q.fails && err == nil:
			t.Errorf("%s: needs no webhook", q.name)
		case q.fails && (!strings.Contains(err.Error(), "conversion webhook for ") || !strings.Contains(err.Error(), why)):
			t.Errorf("%s: %v, want %s", q.name, err, why)
		case !q.fails && err != nil:
			t.Errorf("%s: %v", q.name, err)
		}
	}
}

// requests returns those for objects that are stored in the hub, in the hub and in another version.
func (k *servedKind) requests(t *testing.T) (all []request) {
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
			all = append(all, request{name + " in " + version, do, fails})
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
	)
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
