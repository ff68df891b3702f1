// Command certmanager answers one question: WHAT DOES CERT-MANAGER MAKE OF OUR CERTIFICATES?
//
// It runs the controllers of cert-manager that issue certificates of a SelfSigned or a CA issuer, and its cainjector for CRDs, against an
// API server. They are packages of cert-manager's module, with the library versions that it is released with. test/certmanager starts it.
//
// These parts of cert-manager are left out: its webhook, ACME, ClusterIssuers, leader election, metrics and probes. Nothing listens.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	certmanagerv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	certmanager "github.com/cert-manager/cert-manager/pkg/controller"
	"github.com/cert-manager/cert-manager/pkg/controller/cainjector"
	"github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/approver"
	casigner "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/ca"
	selfsigner "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/selfsigned"
	"github.com/cert-manager/cert-manager/pkg/controller/certificates/issuing"
	"github.com/cert-manager/cert-manager/pkg/controller/certificates/keymanager"
	"github.com/cert-manager/cert-manager/pkg/controller/certificates/readiness"
	"github.com/cert-manager/cert-manager/pkg/controller/certificates/requestmanager"
	"github.com/cert-manager/cert-manager/pkg/controller/certificates/revisionmanager"
	"github.com/cert-manager/cert-manager/pkg/controller/certificates/trigger"
	"github.com/cert-manager/cert-manager/pkg/controller/issuers"
	_ "github.com/cert-manager/cert-manager/pkg/issuer/ca"         // it registers the issuer
	_ "github.com/cert-manager/cert-manager/pkg/issuer/selfsigned" // likewise
	"github.com/cert-manager/cert-manager/pkg/util"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	crdv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

func main() {
	flags := flag.NewFlagSet("certmanager", flag.ExitOnError) // controller-runtime has a flag of that name in the common set
	kubeconfig := flags.String("kubeconfig", "", "a file that leads to the API server, for what issues certificates")
	injector := flags.String("cainjector-kubeconfig", "", "another one, for cainjector, which has rights of its own")
	_ = flags.Parse(os.Args[1:]) // it exits
	ctrl.SetLogger(klog.Background())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *kubeconfig, *injector); err != nil && ctx.Err() == nil {
		fmt.Fprintln(os.Stderr, "run cert-manager:", err)
		os.Exit(1)
	}
}

// run runs the controllers until the context ends.
func run(ctx context.Context, kubeconfig, injectorKubeconfig string) error {
	injector, err := newInjector(ctx, injectorKubeconfig)
	if err != nil {
		return fmt.Errorf("set up cainjector: %w", err)
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return injector.Start(ctx) })
	group.Go(func() error { return issue(ctx, group, kubeconfig) })
	return group.Wait()
}

// newInjector returns cainjector, for CRDs only.
func newInjector(ctx context.Context, kubeconfig string) (ctrl.Manager, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	config = util.RestConfigWithUserAgent(config, "cainjector") // its field manager is named after it
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, crdv1.AddToScheme, certmanagerv1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:  scheme,
		Metrics: server.Options{BindAddress: "0"},
		// Secrets are watched as metadata and read from the API server, as cainjector's own program does.
		Client: client.Options{Cache: &client.CacheOptions{DisableFor: []client.Object{&corev1.Secret{}}}},
	})
	if err != nil {
		return nil, err
	}
	err = cainjector.RegisterAllInjectors(ctx, manager, cainjector.SetupOptions{
		EnableCertificatesDataSource: true,
		EnabledReconcilersFor:        map[string]bool{cainjector.CustomResourceDefinitionName: true},
	})
	return manager, err
}

// issue starts the controllers that issue certificates, in the group.
func issue(ctx context.Context, group *errgroup.Group, kubeconfig string) error {
	factory, err := certmanager.NewContextFactory(ctx, certmanager.ContextOptions{
		Kubeconfig:         kubeconfig,
		KubernetesAPIQPS:   100,
		KubernetesAPIBurst: 100,
		CertificateOptions: certmanager.CertificateOptions{ // the defaults of its program
			CertificateRequestMinimumBackoffDuration: time.Hour,
			CertificateRequestMaximumBackoffDuration: 32 * time.Hour,
		},
	})
	if err != nil {
		return fmt.Errorf("set up the controllers: %w", err)
	}
	shared, err := factory.Build()
	if err != nil {
		return fmt.Errorf("set up the controllers: %w", err)
	}
	known := certmanager.Known()
	for _, name := range []string{issuers.ControllerName, approver.ControllerName, casigner.CRControllerName, selfsigner.CRControllerName,
		trigger.ControllerName, keymanager.ControllerName, requestmanager.ControllerName, issuing.ControllerName, readiness.ControllerName,
		revisionmanager.ControllerName} {
		controller, err := known[name](factory)
		if err != nil {
			return fmt.Errorf("set up the controller %s: %w", name, err)
		}
		group.Go(func() error { return controller.Run(2, ctx) })
	}
	shared.SharedInformerFactory.Start(ctx.Done())
	shared.KubeSharedInformerFactory.Start(ctx.Done())
	return nil
}
