package plane

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
)

// Custom resources in a server of their own:
//
//	clients --> kube-apiserver --(APIService, front-proxy)--> apiextensions-apiserver
//	                 |                                               |
//	            DIR's store, /registry                 the same store, /registry/apiextensions.kubernetes.io
//
// Definitions are made at the address of that server, which has a kubeconfig: what the API server itself is told of them it does not
// serve. Each group and version has an APIService, and all kinds of it are in that server.
const definitionsServer = "apiextensions-apiserver"

// Where definitions and their objects are served.
const (
	inCore     = "core"
	aggregated = "aggregated"
)

// frontProxy is the user as whom the API server passes requests on.
const frontProxy = "front-proxy"

// serviceSpace and definitionsServer are the Service that an APIService names; its host is in the server's certificate.
const serviceSpace = "kube-system"

func (o Options) isAggregated() bool { return o.CRs == aggregated }

// definitionsServerArguments: the server asks the API server who may do what, and for the authority of the front proxy. It has no
// plugin that asks for rights to the finalizers of owners.
func (l layout) definitionsServerArguments(p ports, o Options) []string {
	own := "=" + l.config(definitionsServer+".kubeconfig")
	args := append(l.storeClientArguments(p),
		"--bind-address=127.0.0.1", "--secure-port="+strconv.Itoa(p.Definitions),
		"--tls-cert-file="+l.secret("server.crt"), "--tls-private-key-file="+l.secret("server.key"), "--client-ca-file="+l.secret("ca.crt"),
		"--kubeconfig"+own, "--authentication-kubeconfig"+own, "--authorization-kubeconfig"+own,
		"--enable-priority-and-fairness=false", "--profiling=false",
	)
	if o.Strict {
		args = append(args, noWatchLists)
	}
	return args
}

// storeClientArguments are those of whoever keeps its objects in the store.
func (l layout) storeClientArguments(p ports) []string {
	return []string{"--etcd-servers=" + address(p.Store), "--etcd-cafile=" + l.secret("ca.crt"),
		"--etcd-certfile=" + l.secret("server.crt"), "--etcd-keyfile=" + l.secret("server.key")}
}

// aggregationArguments of the API server: how it says on whose behalf it passes requests on.
func (l layout) aggregationArguments() []string {
	return []string{
		"--requestheader-client-ca-file=" + l.secret("front-proxy-ca.crt"), "--requestheader-allowed-names=" + frontProxy,
		"--requestheader-username-headers=X-Remote-User", "--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--proxy-client-cert-file=" + l.secret("front-proxy.crt"), "--proxy-client-key-file=" + l.secret("front-proxy.key"),
	}
}

// registration is a kind in a version that the API server passes on.
type registration struct{ url, plural string }

// discovery of all kinds in one answer, which kubectl asks for.
const discovery = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

// awaitDefinitions waits until the API server passes on what is asked of the kinds that were registered, and says so. It looks at a
// server that was away, or is new, now and then.
func (p *plane) awaitDefinitions(ctx context.Context) error {
	for _, r := range p.registered {
		if err := p.client.awaitOK(ctx, r.plural+" are served", r.url, fmt.Sprintf("%q", r.plural), p.children); err != nil {
			return err
		}
		err := await(ctx, r.plural+" are discovered", p.children, func() (bool, string) {
			code, answer, err := p.client.ask(ctx, http.MethodGet, p.client.server+"/apis", map[string]string{"Accept": discovery}, nil)
			if err != nil {
				return false, err.Error()
			}
			return code == http.StatusOK && bytes.Contains(answer, fmt.Appendf(nil, `"resource":%q`, r.plural)), fmt.Sprintf("status %d", code)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// register has the API server pass on what is asked of the versions of definitions, and waits until it does. All are made before: what
// a server has, the API server asks once when it gets to know of it, and then only once a minute.
func (p *plane) register(ctx context.Context, all []definition) error {
	space := p.client.server + "/api/v1/namespaces/" + serviceSpace
	if err := p.client.awaitOK(ctx, "the namespace "+serviceSpace+" exists", space, "", p.children); err != nil {
		return err
	}
	if err := p.client.put(ctx, "/api/v1/namespaces/"+serviceSpace+"/services", definitionsServer, map[string]any{
		"apiVersion": "v1", "kind": "Service", "metadata": map[string]any{"name": definitionsServer},
		"spec": map[string]any{"type": "ExternalName", "externalName": "127.0.0.1"}}); err != nil {
		return err
	}
	for _, d := range all {
		for _, v := range d.Spec.Versions {
			name := v.Name + "." + d.Spec.Group
			if err := p.client.put(ctx, "/apis/apiregistration.k8s.io/v1/apiservices", name, map[string]any{
				"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": map[string]any{"name": name},
				"spec": map[string]any{"group": d.Spec.Group, "version": v.Name, "groupPriorityMinimum": 1000, "versionPriority": 100, "caBundle": p.authority,
					"service": map[string]any{"namespace": serviceSpace, "name": definitionsServer, "port": p.ports.Definitions}}}); err != nil {
				return err
			}
			p.registered = append(p.registered, registration{p.client.server + "/apis/" + d.Spec.Group + "/" + v.Name, d.Spec.Names.Plural})
		}
	}
	return p.awaitDefinitions(ctx)
}

// put writes an object by server-side apply, as the directory of an earlier cluster may be used again, with another port.
func (c *client) put(ctx context.Context, path, name string, object map[string]any) error {
	body, err := json.Marshal(object)
	if err != nil {
		return fmt.Errorf("encode an object for %s: %w", path, err)
	}
	code, answer, err := c.apply(ctx, c.server+path+"/"+name, body)
	if err != nil {
		return err
	}
	if code/100 != 2 {
		return fmt.Errorf("write %s/%s: status %d: %s", path, name, code, answer)
	}
	return nil
}

// definitionsAddress is where definitions are made.
func (p *plane) definitionsAddress() string {
	if p.options.isAggregated() {
		return address(p.ports.Definitions)
	}
	return p.client.server
}

// parts that commands may name.
func (o Options) parts() []string {
	all := []string{store, apiserver, controllers, scheduler, kubelets}
	if o.isAggregated() {
		all = slices.Insert(all, 2, definitionsServer)
	}
	return all
}
