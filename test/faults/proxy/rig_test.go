package proxy

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"

	"stoic/cli/cluster"
	local "stoic/test/operator"
)

const (
	user = "operator-of-the-proxy-test"
	ns   = "proxied"
)

// live is a real control plane.
type live struct {
	cluster *cluster.Cluster
	admin   kubernetes.Interface
	user    *rest.Config
}

func startLive(t *testing.T) *live {
	t.Helper()
	c, admin := local.Cluster(t, cluster.Options{Source: "../../../localcluster", Audit: true, Nodes: -1, Users: map[string]string{"operator": user}})
	l := &live{cluster: c, admin: kubernetes.NewForConfigOrDie(admin)}
	var err error
	if l.user, err = clientcmd.BuildConfigFromFlags("", c.UserKubeconfig("operator")); err != nil {
		t.Fatal(err)
	}
	for _, create := range []string{"namespace " + ns, "clusterrolebinding all --clusterrole=cluster-admin --user=" + user} {
		if _, err := local.Kubectl(t.Context(), c.Kubeconfig(), nil, append([]string{"create"}, strings.Fields(create)...)...); err != nil {
			t.Fatal(err)
		}
	}
	return l
}

// proxied starts a proxy and a client of it.
func (l *live) proxied(t *testing.T) (*Proxy, *rest.Config) {
	t.Helper()
	p, err := Start(l.user)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	config := p.Config()
	config.QPS = -1
	return p, config
}

// store writes a version of an object, as the administrator, and returns its resourceVersion.
func (l *live) store(t *testing.T, name, value string) string {
	t.Helper()
	maps, ctx := l.admin.CoreV1().ConfigMaps(ns), context.Background()
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"value": value}}
	stored, err := maps.Update(ctx, object, metav1.UpdateOptions{})
	if err != nil {
		stored, err = maps.Create(ctx, object, metav1.CreateOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
	return stored.ResourceVersion
}

// observer is an informer of the operator, and what it saw of one object.
type observer struct {
	mu   sync.Mutex
	saw  []string
	name string
}

func (o *observer) note(what string, object any) {
	if gone, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = gone.Obj
	}
	value := ""
	if m, ok := object.(*corev1.ConfigMap); ok {
		value = " " + m.Data["value"]
	}
	if object.(metav1.Object).GetName() != o.name {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.saw = append(o.saw, what+value)
}

func (o *observer) seen() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return strings.Join(o.saw, ", ")
}

func (o *observer) awaits(t *testing.T, want string) {
	t.Helper()
	defer func() {
		if t.Failed() {
			t.Logf("the informer saw %s", o.seen())
		}
	}()
	await(t, "the informer to see "+want, func() bool { return o.seen() == want })
}

func (o *observer) handler() cache.ResourceEventHandlerFuncs {
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(object any) { o.note("add", object) },
		UpdateFunc: func(old, object any) {
			if old.(metav1.Object).GetResourceVersion() != object.(metav1.Object).GetResourceVersion() {
				o.note("update", object)
			}
		},
		DeleteFunc: func(object any) { o.note("delete", object) },
	}
}

// observe starts an informer of config maps and waits until it has synced.
func observe(t *testing.T, p *Proxy, config *rest.Config, name string) *observer {
	t.Helper()
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	o := &observer{name: name}
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(ns))
	informer := factory.Core().V1().ConfigMaps().Informer()
	if _, err := informer.AddEventHandler(o.handler()); err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	t.Cleanup(func() { close(stop); factory.Shutdown() })
	factory.Start(stop)
	await(t, "the informer", func() bool { return informer.HasSynced() && p.Streams().Open("configmaps") == 1 })
	return o
}

// awaitParked waits until so many events are parked.
func awaitParked(t *testing.T, p *Proxy, n int) {
	t.Helper()
	await(t, fmt.Sprintf("%d events to be parked", n), func() bool {
		s := p.Streams()
		s.mu.Lock()
		defer s.mu.Unlock()
		for st := range s.open {
			return len(st.queue) >= n
		}
		return false
	})
}
