package integration

import (
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

// webhookFails: the webhook of a kind is killed, and has a certificate that has expired. Each time exactly the requests fail that
// docs/versions.md names, and none for other kinds. When the cause is removed everything recovers by itself.
func (k *servedKind) webhookFails(t, whole *testing.T, r *rig, others []*servedKind) {
	if k.objects == 0 {
		t.Skip("the test of the kind was not selected")
	}
	for name, version := range map[string]string{"stored": k.Hub, "by-old": k.Versions[0].Name} {
		k.create(t, version, name)
		k.objects++
	}
	kill := func() {
		t.Helper()
		if err := k.process.Kill(); err != nil {
			t.Fatal(err)
		}
	}
	restart := func() {
		t.Helper()
		k.process = operator.Started(whole, k.webhook.Options)
		await(t, "the webhook to be ready", func() (bool, string) { return k.process.Ready(t.Context()), k.process.Tail() })
	}

	kill()
	k.failing(t, r, "connection refused", others)
	restart()
	k.listed(t, "after a restart of the webhook")

	kill()
	k.trust(t, r, k.certify(t, time.Now().Add(-3*time.Hour)))
	restart()
	await(t, "reads to fail", func() (bool, string) { // a changed CRD takes effect a moment later
		_, err := k.resource(k.Versions[0].Name).Get(t.Context(), "stored", metav1.GetOptions{})
		return err != nil && strings.Contains(err.Error(), "certificate has expired"), fmt.Sprint(err)
	})
	k.failing(t, r, "certificate has expired", others)
	k.trust(t, r, k.certify(t, time.Now())) // it is reloaded, without a restart
	k.listed(t, "with a certificate that was renewed")
}

// trust makes the CRD trust an authority from now on.
func (k *servedKind) trust(t *testing.T, r *rig, authority []byte) {
	t.Helper()
	r.patchDefinition(t, k.plural+"."+k.Group, `[{"op":"replace","path":"/spec/conversion/webhook/clientConfig/caBundle","value":"`+base64.StdEncoding.EncodeToString(authority)+`"}]`)
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
	t.Helper()
	ctx := t.Context()
	check := func(what string, needsWebhook bool, err error) {
		t.Helper()
		if needsWebhook != (err != nil) {
			t.Errorf("%s: %v, and it needs the webhook: %v", what, err, needsWebhook)
		}
		if err != nil && !(strings.Contains(err.Error(), "conversion webhook for ") && strings.Contains(err.Error(), why)) {
			t.Errorf("%s: %v, want %s", what, err, why)
		}
	}
	// This change makes the watch cache stale, so that every list in another version reads etcd and calls the webhook.
	label := fmt.Appendf(nil, `{"metadata":{"labels":{"seen":"%d"}}}`, time.Now().UnixNano())
	for _, version := range k.all()[:2] {
		in, isOther := k.resource(version), version != k.Hub
		_, err := in.Patch(ctx, "stored", types.MergePatchType, label, metav1.PatchOptions{})
		check("patch in "+version, isOther, err)
		_, err = in.Get(ctx, "stored", metav1.GetOptions{})
		check("get in "+version, isOther, err)
		_, err = in.List(ctx, metav1.ListOptions{})
		check("list in "+version, isOther, err)
		made := k.object(map[string]any{"metadata": map[string]any{}, "spec": k.spec(t, version)}, version, "made")
		_, err = in.Create(ctx, made, metav1.CreateOptions{})
		check("create in "+version, isOther, err)
	}
	hub := k.resource(k.Hub)
	check("delete", false, hub.Delete(ctx, "made", metav1.DeleteOptions{}))
	for name, needsWebhook := range map[string]bool{"stored": false, "by-old": true} { // the latter has a field manager of another version
		applied := &unstructured.Unstructured{Object: map[string]any{"apiVersion": k.Group + "/" + k.Hub, "kind": k.Name,
			"metadata": map[string]any{"name": name, "labels": map[string]any{"applied": "yes"}}}}
		_, err := hub.Apply(ctx, name, applied, metav1.ApplyOptions{FieldManager: "applies"})
		check("apply of "+name, needsWebhook, err)
	}
	for _, other := range others {
		if other.objects > 0 { // its test was selected
			other.listed(t, "while the webhook of another kind fails")
		}
	}
}
