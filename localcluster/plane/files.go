package plane

import (
	"fmt"
	"os"
	"path/filepath"

	"stoic/localcluster/access"
	"stoic/localcluster/simulation"
)

// layout names the files of one control plane.
type layout struct{ dir string }

func (l layout) path(elements ...string) string {
	return filepath.Join(append([]string{l.dir}, elements...)...)
}
func (l layout) secret(name string) string     { return l.path("certificates", name) }
func (l layout) config(name string) string     { return l.path("config", name) }
func (l layout) log(part string) string        { return l.path("logs", part+".log") }
func (l layout) kubeconfig(name string) string { return l.path(name + ".kubeconfig") }
func (l layout) saved() string                 { return l.path("saved") }
func (l layout) audit() string                 { return l.path("logs", "audit.log") }

// data is the folder of the store. Each kind of store has its own: what another one has left is nothing that it can read.
func (l layout) data(o Options) string {
	if o.isKine() {
		return l.path(kine)
	}
	return l.path(store)
}

// internal are the parts' own users. All controllers share one client here, which
// therefore needs the permissions of all of them. The simulated kubelets may do everything,
// but under a name of their own, so that an audit log tells them from the admin.
func internal() map[string]access.Identity {
	return map[string]access.Identity{
		controllers: {User: "system:kube-controller-manager", Groups: []string{"system:masters"}},
		scheduler:   {User: "system:kube-scheduler"},
		kubelets:    {User: "simulated-kubelets", Groups: []string{"system:masters"}},
		// It reads namespaces, services and webhooks, and asks who may do what.
		definitionsServer: {User: "system:apiextensions-apiserver", Groups: []string{"system:masters"}},
	}
}

// credentials is what the supervisor itself needs to talk to the parts.
type credentials struct {
	authority *access.Authority
	admin     access.Pair
}

// prepare makes the directories and all certificates.
func (l layout) prepare() (*credentials, error) {
	// The logs of an earlier cluster would be taken for those of this one.
	if err := os.RemoveAll(l.path("logs")); err != nil {
		return nil, fmt.Errorf("remove old logs: %w", err)
	}
	for _, dir := range []string{l.dir, l.path("certificates"), l.path("config"), l.path("logs")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("make the directory %s: %w", dir, err)
		}
	}
	authority, err := access.NewAuthority("localcluster")
	if err != nil {
		return nil, err
	}
	server, err := authority.Server()
	if err != nil {
		return nil, err
	}
	tokens, err := access.SigningKey()
	if err != nil {
		return nil, err
	}
	client, err := authority.Client(access.Identity{User: admin, Groups: []string{"system:masters"}})
	if err != nil {
		return nil, err
	}
	passing, err := access.NewAuthority(frontProxy)
	if err != nil {
		return nil, err
	}
	proxy, err := passing.Client(access.Identity{User: frontProxy})
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{
		l.secret("front-proxy-ca.crt"): passing.Certificate(),
		l.secret("front-proxy.crt"):    proxy.Certificate,
		l.secret("front-proxy.key"):    proxy.Key,
		l.secret("ca.crt"):             authority.Certificate(),
		l.secret("server.crt"):         server.Certificate,
		l.secret("server.key"):         server.Key,
		l.secret("tokens.pub"):         tokens.Certificate,
		l.secret("tokens.key"):         tokens.Key,
	}
	return &credentials{authority: authority, admin: client}, write(files)
}

// kubeconfigs writes the kubeconfigs of the parts and of the users. They hold
// the server's address, so they follow its port; that for definitions holds the
// address of the server at which those are made.
func (l layout) kubeconfigs(c *credentials, server, definitions string, users map[string]access.Identity) error {
	content, err := c.authority.Kubeconfig(server, c.admin, "")
	if err != nil {
		return err
	}
	files := map[string][]byte{l.kubeconfig(admin): content}
	if files[l.kubeconfig(definitionsKubeconfig)], err = c.authority.Kubeconfig(definitions, c.admin, ""); err != nil {
		return err
	}
	add := func(path string, id access.Identity, through string) error {
		pair, err := c.authority.Client(id)
		if err != nil {
			return err
		}
		files[path], err = c.authority.Kubeconfig(server, pair, through)
		return err
	}
	for name, id := range internal() {
		through := ""
		if name == kubelets {
			through = simulation.DeletionPlugin
		}
		if err := add(l.config(name+".kubeconfig"), id, through); err != nil {
			return err
		}
	}
	for name, id := range users {
		if err := add(l.kubeconfig(name), id, ""); err != nil {
			return err
		}
	}
	return write(files)
}

// remove deletes everything. It only ever runs on a directory that the caller
// declared to be temporary.
func (l layout) remove() error {
	if err := os.RemoveAll(l.dir); err != nil {
		return fmt.Errorf("remove the directory of the control plane: %w", err)
	}
	return nil
}

func write(files map[string][]byte) error {
	for path, content := range files {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			return fmt.Errorf("write %s: %w", path, err)
		}
	}
	return nil
}
