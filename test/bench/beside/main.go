//go:build ignore

// Command beside answers one question: WHAT DOES training-operator v1.9.4 COST? It runs the TFJob controller of that release from
// its module, unchanged, without the webhooks and their certificates. The requirements of that release differ from ours, so this file
// is built in a module of its own: docs/performance.md says how.
package main

import (
	"flag"
	"log"

	"k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	kubeflow "github.com/kubeflow/training-operator/pkg/apis/kubeflow.org/v1"
	"github.com/kubeflow/training-operator/pkg/controller.v1/common"
	"github.com/kubeflow/training-operator/pkg/controller.v1/tensorflow"
)

func main() {
	metrics := flag.String("metrics-bind-address", ":8080", "where metrics are served")
	probes := flag.String("health-probe-bind-address", ":8081", "where probes are served")
	threads := flag.Int("controller-threads", 16, "jobs that are reconciled at once")
	flag.Parse() // controller-runtime has registered --kubeconfig
	ctrl.SetLogger(zap.New())
	if err := run(*metrics, *probes, *threads); err != nil {
		log.Fatal(err)
	}
}

func run(metrics, probes string, threads int) error {
	config := ctrl.GetConfigOrDie()
	config.QPS, config.Burst = -1, 0 // no rate limit, as for the other subjects
	if err := kubeflow.AddToScheme(scheme.Scheme); err != nil {
		return err
	}
	manager, err := ctrl.NewManager(config, ctrl.Options{Scheme: scheme.Scheme, HealthProbeBindAddress: probes, Metrics: server.Options{BindAddress: metrics}})
	if err != nil {
		return err
	}
	if err := manager.AddReadyzCheck("ready", healthz.Ping); err != nil {
		return err
	}
	noGang := func(*common.JobController) {}
	if err := tensorflow.NewReconciler(manager, noGang).SetupWithManager(manager, threads); err != nil {
		return err
	}
	return manager.Start(ctrl.SetupSignalHandler())
}
