package cli

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"stoic/controller"
	"stoic/examples"
	"stoic/examples/operators/crontab"
	"stoic/examples/operators/mydeployment"
	"stoic/schema"
)

// guest is an operator of examples/operators that up runs beside the operator of jobs.
type guest struct {
	folder  string // in examples/operators
	name    string // of the operator, and of its kubeconfig
	user    string // the service account that its manifests bind
	watches []controller.Watch
}

func guests() []guest {
	return []guest{
		{"crontab", "crontab-operator", "system:serviceaccount:crontab-operators:crontab-operator", crontab.Watches()},
		{"mydeployment", "mydeployment-operator", "system:serviceaccount:mydeployment-system:mydeployment-operator", mydeployment.Watches()},
	}
}

func (g guest) resource() schema.Resource { return g.watches[0].Resource }

// crd returns the file of its CRD.
func (g guest) crd() string { return "deploy/crd/" + g.resource().Plural + ".yaml" }

func (g guest) file(name string) ([]byte, error) {
	files, err := examples.OperatorFiles()
	if err != nil {
		return nil, fmt.Errorf("read the built-in operators: %w", err)
	}
	text, err := fs.ReadFile(files, path.Join(g.folder, name))
	if err != nil {
		return nil, fmt.Errorf("read a file of the operator %s: %w", g.folder, err)
	}
	return text, nil
}

func (g guest) writeOlderCRD(folder string) error {
	text, err := g.file(g.crd())
	if err != nil {
		return err
	}
	return writeOlderCRD(folder, g.resource().Plural, text)
}

// guestObject is an object of a guest, and the condition that must become True.
type guestObject struct{ plural, kind, namespace, name, condition string }

func (g guest) object(file string) (guestObject, error) {
	text, err := g.file(file)
	if err != nil {
		return guestObject{}, err
	}
	var head struct {
		Metadata struct {
			Name, Namespace string
			Annotations     map[string]string
		} `json:"metadata"`
	}
	if err := yaml.Unmarshal(text, &head); err != nil {
		return guestObject{}, fmt.Errorf("read %s of the operator %s: %w", file, g.folder, err)
	}
	return guestObject{g.resource().Plural, g.resource().Kind, head.Metadata.Namespace, head.Metadata.Name, head.Metadata.Annotations[examples.Expect]}, nil
}

// awaitGuests waits until the objects of all guests have their expected condition, and their events.
func (s *stage) awaitGuests(ctx context.Context) error {
	var malformed []string
	for _, g := range s.guests {
		for _, file := range []string{"example.yaml", "rejected.yaml"} {
			o, err := g.object(file)
			if err != nil {
				return err
			}
			if _, err := s.kubectl.output(ctx, "wait", "--for=condition="+o.condition, o.plural+"/"+o.name, "-n", o.namespace, "--timeout="+guestLimit.String()); err != nil {
				return err
			}
			s.talk.say("  %-16s %s", o.name, o.condition)
			if file == "rejected.yaml" {
				malformed = append(malformed, o.kind+"/"+o.namespace+"/"+o.name)
			}
		}
	}
	return s.untilReported(ctx, malformed)
}

// guestLimit is how long an object of a guest may take to get its condition.
const guestLimit = 30 * time.Second

// reportGuests prints the objects of the guests, their conditions and the events of the malformed ones.
func (s *stage) reportGuests(ctx context.Context) error {
	if len(s.guests) == 0 {
		return nil
	}
	all := s.guestPlurals()
	if err := s.kubectl.show(ctx, s.out, "get", all, "-A"); err != nil {
		return err
	}
	for _, g := range s.guests {
		if err := s.showEvents(ctx, g.resource().Kind+"FailedValidation"); err != nil {
			return err
		}
	}
	return s.kubectl.show(ctx, s.out, "get", all, "-A", "-o", `custom-columns=KIND:.kind,NAME:.metadata.name,STALLED:.status.conditions[?(@.type=="Stalled")].message`)
}

// guestPlurals returns the names of all kinds of the guests, in the form that kubectl get takes.
func (s *stage) guestPlurals() string {
	var names []string
	for _, g := range s.guests {
		names = append(names, g.resource().Plural)
	}
	return strings.Join(names, ",")
}
