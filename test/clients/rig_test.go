package clients

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"stoic/cli/cluster"
	"stoic/test/operator"
	"stoic/training"
)

// root is the checkout, relative to this package.
const root = "../.."

// patience bounds every wait for a condition; it is generous because machines are slow.
const patience = 3 * time.Minute

func TestMain(m *testing.M) {
	flag.Parse()
	if testing.Short() {
		fmt.Println("these tests need a control plane: left out with -short")
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// rig is a control plane with our CRDs, on which the operator runs and pods succeed.
type rig struct {
	cluster *cluster.Cluster
	typed   kubernetes.Interface
	proxy   string // address of a kubectl proxy, as http://127.0.0.1:PORT
}

func newRig(t *testing.T) *rig {
	t.Helper()
	c, config := operator.Cluster(t, cluster.Options{Source: filepath.Join(root, "localcluster"), CRDs: []string{filepath.Join(root, "deploy/crd")}, Progress: t.Output()})
	if err := operator.Permit(t.Context(), c.Kubeconfig(), root); err != nil {
		t.Fatal(err)
	}
	r := &rig{cluster: c, typed: kubernetes.NewForConfigOrDie(config)}
	operator.InTest(t, operator.Options{Command: operator.Stoic(operator.Built(t, root)), Kubeconfig: c.UserKubeconfig("operator")})
	r.finishPods(t)
	r.proxy = kubectlProxy(t, c.Kubeconfig())
	return r
}

// finishPods lets every pod of a job end with exit code 0, a second after it has started: the examples have no annotations for
// simulated nodes.
func (r *rig) finishPods(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	factory := informers.NewSharedInformerFactoryWithOptions(r.typed, 0, informers.WithTweakListOptions(func(o *metav1.ListOptions) { o.LabelSelector = training.LabelJob }))
	var mutex sync.Mutex
	var failures []error
	_, err := factory.Core().V1().Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(object any) {
		pod := object.(*corev1.Pod)
		_, err := r.typed.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.MergePatchType, []byte(`{"metadata":{"annotations":{"simulation.stoic/exit-code":"0"}}}`), metav1.PatchOptions{})
		if err != nil && !apierrors.IsNotFound(err) && ctx.Err() == nil {
			mutex.Lock()
			defer mutex.Unlock()
			failures = append(failures, fmt.Errorf("annotate a pod: %w", err))
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	factory.Start(ctx.Done())
	t.Cleanup(func() {
		cancel()
		factory.Shutdown()
		for _, err := range failures {
			t.Error(err)
		}
	})
}

// kubectlProxy runs kubectl proxy until the test ends, on a port that it chooses.
func kubectlProxy(t *testing.T, kubeconfig string) (address string) {
	t.Helper()
	cmd := exec.Command("kubectl", append(cluster.KubectlArguments(kubeconfig), "proxy", "--port=0", "--address=127.0.0.1")...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // fails only if the process no longer exists
		_ = cmd.Wait()         // it was killed
	})
	line, err := bufio.NewReader(out).ReadString('\n') // Starting to serve on 127.0.0.1:40001
	at := strings.LastIndex(line, " ")
	if err != nil || at < 0 {
		t.Fatalf("kubectl proxy says %q: %v", line, err)
	}
	return "http://" + strings.TrimSpace(line[at:])
}

// await waits until the condition holds. When it gives up, it reports what it saw.
func await(t *testing.T, what string, holds func() (ok bool, saw string)) {
	t.Helper()
	operator.Await(t, patience, what, holds)
}
