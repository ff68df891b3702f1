package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"
)

const introduction = `<!-- Written by ` + "`make generate`" + ` from values.yaml; do not edit. -->
# Helm chart

` + "```sh" + `
helm install training-operator deploy/chart --namespace kubeflow --create-namespace \
  --set image.repository=example.org/team/stoic --set image.tag=v1.2.3
` + "```" + `

With default values it installs the same objects as ` + "`kubectl apply -k deploy`" + `, but for the namespace and for rights that
only gang schedulers need. It is tested with
Helm 4 and rendered with Helm 3. A value that does not exist, is null, or is of the wrong type, is refused with its name.

The CRDs are templates, so an upgrade of the release upgrades them. They stay when the release is uninstalled: ` + "`crds.keep`" + `.
` + "`kubeflow-training-admin`" + ` may stay, too: Kubernetes, which fills it with rules, can recreate it while it is deleted. ` + "`helm uninstall --wait`" + `
waits for it in vain then; ` + "`kubectl delete clusterrole kubeflow-training-admin`" + ` ends that.

Helm 4 takes over what ` + "`kubectl apply -k deploy`" + ` has installed: ` + "`helm install --take-ownership --force-conflicts`" + `. Fields that the
chart does not set stay as they are, so the Deployment of training-operator, which mounts a certificate, is to be deleted before:
` + "`kubectl delete deployment -n kubeflow training-operator`" + `. Its jobs run on meanwhile.

A namespace has one operator: a second release in it is refused. It would have the lease and the selector of the first one.

The operator's role has the rights that the values need: groups of a gang scheduler are its affair with ` + "`gangSchedulerName`" + ` or
` + "`nativeGangScheduling`" + `, autoscalers with kinds that can have one. ` + "`kubectl apply -k deploy`" + ` grants all of them.

Jobs are served in several versions of their kind by ` + "`conversion`" + `: [docs/versions.md](../../docs/versions.md) says what for, and in which order
its values are set.

Needed for ` + "`render: skipIfMissing`" + `: Helm asks the cluster which kinds it serves. ` + "`helm template`" + ` asks no cluster; it is told by
` + "`--api-versions monitoring.coreos.com/v1/ServiceMonitor`" + `.

# Values

| value | default | what it is |
|---|---|---|
`

// readme returns the chart's page, with a row for each value.
func readme(root string) (file, error) {
	text, err := os.ReadFile(filepath.Join(root, "deploy", "chart", "values.yaml"))
	if err != nil {
		return file{}, fmt.Errorf("read the values: %w", err)
	}
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return file{}, fmt.Errorf("parse the values: %w", err)
	}
	var out strings.Builder
	out.WriteString(introduction)
	if err := rows(&out, "", document.Content[0]); err != nil {
		return file{}, fmt.Errorf("document the values: %w", err)
	}
	return file{"README.md", []byte(out.String())}, nil
}

// rows writes a row for each key of a map, and for the keys below it if they have comments: they are then values of their own.
func rows(out *strings.Builder, path string, values *yaml.Node) error {
	for i := 0; i+1 < len(values.Content); i += 2 {
		key, value := values.Content[i], values.Content[i+1]
		name := path + key.Value
		says := comment(key)
		if says == "" {
			return fmt.Errorf("%s has no comment", name)
		}
		if group(value) {
			fmt.Fprintf(out, "| **`%s`** | | %s |\n", name, says)
			if err := rows(out, name+".", value); err != nil {
				return err
			}
			continue
		}
		var content any
		if err := value.Decode(&content); err != nil {
			return fmt.Errorf("read the default of %s: %w", name, err)
		}
		text, err := json.Marshal(content)
		if err != nil {
			return fmt.Errorf("write the default of %s: %w", name, err)
		}
		fmt.Fprintf(out, "| `%s` | `%s` | %s |\n", name, text, says)
	}
	return nil
}

// group reports whether a value is a map of values, and not one value that is a map.
func group(value *yaml.Node) bool {
	if value.Kind != yaml.MappingNode {
		return false
	}
	for i := 0; i < len(value.Content); i += 2 {
		if comment(value.Content[i]) != "" {
			return true
		}
	}
	return false
}

// comment returns the paragraph above a key, in one line.
func comment(key *yaml.Node) string {
	paragraphs := strings.Split(key.HeadComment, "\n\n")
	var words []string
	for line := range strings.Lines(paragraphs[len(paragraphs)-1]) {
		words = append(words, strings.Fields(strings.TrimPrefix(strings.TrimSpace(line), "#"))...)
	}
	return strings.ReplaceAll(strings.Join(words, " "), "|", `\|`)
}
