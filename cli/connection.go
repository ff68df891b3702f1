package cli

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"
	_ "k8s.io/client-go/plugin/pkg/client/auth/oidc" // auth-provider: oidc, as kubectl knows it
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"

	"stoic/cli/command"
)

// connection is the cluster of a command, and the namespace in it. The flags have the meaning that they have in kubectl.
type connection struct {
	kubeconfig, context string
	namespace           string
	everywhere          bool
	timeout             time.Duration
}

func (c *connection) register(flags *pflag.FlagSet) {
	c.registerServer(flags)
	flags.StringVarP(&c.namespace, "namespace", "n", "", "the namespace (default: that of the context)")
	flags.BoolVarP(&c.everywhere, "all-namespaces", "A", false, "all namespaces, whatever --namespace says")
}

// registerServer adds the flags of commands that are about all namespaces.
func (c *connection) registerServer(flags *pflag.FlagSet) {
	flags.StringVar(&c.kubeconfig, "kubeconfig", "", "file that says how to reach the API server (default: $KUBECONFIG, else ~/.kube/config)")
	flags.StringVar(&c.context, "context", "", "the context of the kubeconfig to use (default: its current one)")
	flags.DurationVar(&c.timeout, "request-timeout", time.Minute, "how long one request may take; 0 for no limit")
}

// given returns the first of these flags that was used, or an empty string.
func (c *connection) given(flags *pflag.FlagSet) string {
	for _, name := range []string{"kubeconfig", "context", "namespace", "all-namespaces", "request-timeout"} {
		if flags.Changed(name) {
			return "--" + name
		}
	}
	return ""
}

// open reads the kubeconfig. An empty namespace means all namespaces.
func (c *connection) open() (config *rest.Config, namespace string, err error) {
	if c.timeout < 0 {
		return nil, "", command.UsageError(fmt.Errorf("--request-timeout: found %s, must be 0 or more", c.timeout))
	}
	if c.namespace != "" && len(validation.IsDNS1123Label(c.namespace)) > 0 {
		return nil, "", command.UsageError(fmt.Errorf("--namespace: found %q, must be the name of one namespace; -A stands for all", c.namespace))
	}
	// client-go writes lines of its own to standard error; what matters is also returned as an error.
	klog.SetLoggerWithOptions(logr.Discard(), klog.ContextualLogger(true))
	rules := c.rules()
	overrides := &clientcmd.ConfigOverrides{CurrentContext: c.context}
	overrides.Context.Namespace = c.namespace
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides)
	config, err = loader.ClientConfig()
	if clientcmd.IsEmptyConfig(err) || err == nil && config.Host == "" {
		return nil, "", command.UsageError(fmt.Errorf("no cluster to ask: %s; give --kubeconfig or set KUBECONFIG", lookedFor(rules)))
	}
	if err == nil && !c.everywhere {
		namespace, _, err = loader.Namespace()
	}
	if err != nil {
		return nil, "", command.UsageError(fmt.Errorf("read the kubeconfig: %w", err))
	}
	config.UserAgent = "stoic/" + command.Version
	config.Timeout = c.timeout
	config.QPS = -1 // requests are made one after the other; that is slow enough
	config.WarningHandlerWithContext = rest.NoWarnings{}
	return config, namespace, nil
}

// rules returns which kubeconfigs are read.
func (c *connection) rules() *clientcmd.ClientConfigLoadingRules {
	return &clientcmd.ClientConfigLoadingRules{ExplicitPath: c.kubeconfig, Precedence: kubeconfigs()}
}

// kubeconfigs returns the files that are merged when --kubeconfig is not given, as in kubectl.
func kubeconfigs() []string {
	if files := filepath.SplitList(os.Getenv("KUBECONFIG")); len(files) > 0 {
		return files
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return nil
	}
	return []string{filepath.Join(home, ".kube", "config")}
}

// lookedFor says for each kubeconfig in the search path why it names no cluster.
func lookedFor(rules *clientcmd.ClientConfigLoadingRules) string {
	var said []string
	for _, file := range rules.GetLoadingPrecedence() {
		if file == "" {
			continue
		}
		if _, err := os.Stat(file); errors.Is(err, os.ErrNotExist) {
			said = append(said, file+" does not exist")
		} else {
			said = append(said, file+" names none")
		}
	}
	return cmp.Or(strings.Join(said, ", "), "there is no home folder to look for a kubeconfig in")
}
