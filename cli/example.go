package cli

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"stoic/cli/command"
	"stoic/examples"
	"stoic/training"
	"stoic/training/kinds"
)

// example is one manifest, and the end that it states for itself.
type example struct {
	namespace, name string
	expect          string
	kind            *training.Kind
	text            []byte
}

// key identifies the example among all jobs.
func (e example) key() string { return e.kind.Name + "/" + e.namespace + "/" + e.name }

// kindsOf returns the kinds of some examples.
func kindsOf(some []example) []*training.Kind {
	return slices.DeleteFunc(kinds.All(), func(k *training.Kind) bool {
		return !slices.ContainsFunc(some, func(e example) bool { return e.kind == k })
	})
}

// plurals returns the names of all kinds of jobs, in the form that kubectl get takes.
func plurals() string {
	var names []string
	for _, kind := range kinds.All() {
		names = append(names, kind.Plural)
	}
	return strings.Join(names, ",")
}

// readExamples reads the built-in manifests that state how they end, or all those of a folder. The other built-in ones show one mistake
// each, some of which an API server would reject: too many for a demonstration.
func readExamples(folder string) ([]example, error) {
	files := examples.Files()
	if folder != "" {
		files = os.DirFS(folder)
	}
	var found []example
	err := fs.WalkDir(files, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".yaml" {
			return err
		}
		text, err := fs.ReadFile(files, path)
		if err != nil {
			return err
		}
		if folder == "" && !bytes.Contains(text, []byte(examples.Expect)) {
			return nil
		}
		e, err := readExample(text)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		found = append(found, e)
		return nil
	})
	if err != nil {
		return nil, command.UsageError(fmt.Errorf("read the examples in %s: %w", folder, err))
	}
	if len(found) == 0 {
		return nil, command.UsageError(fmt.Errorf("no *.yaml in %s", folder))
	}
	return found, nil
}

func readExample(text []byte) (example, error) {
	var head struct {
		Kind     string `json:"kind"`
		Metadata struct {
			Name, Namespace string
			Annotations     map[string]string
		} `json:"metadata"`
	}
	if err := yaml.Unmarshal(text, &head); err != nil {
		return example{}, err
	}
	e := example{namespace: head.Metadata.Namespace, name: head.Metadata.Name, expect: head.Metadata.Annotations[examples.Expect], text: text}
	for _, k := range kinds.All() {
		if k.Name == head.Kind {
			e.kind = k
		}
	}
	if e.namespace == "" {
		e.namespace = "default"
	}
	switch {
	case e.kind == nil:
		return e, fmt.Errorf("found kind %q, must be one that is served", head.Kind)
	case e.expect != string(training.Succeeded) && e.expect != string(training.Failed) && e.expect != rejected:
		return e, fmt.Errorf("annotation %s: found %q, must be Succeeded, Failed or Rejected", examples.Expect, e.expect)
	}
	return e, nil
}

// manifests joins the texts of the invalid examples, or of the valid ones.
func manifests(jobs []example, wrong bool) []byte {
	var texts [][]byte
	for _, e := range jobs {
		if (e.expect == rejected) == wrong {
			texts = append(texts, e.text)
		}
	}
	return bytes.Join(texts, []byte("\n---\n"))
}
