package manager

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"text/template"

	"github.com/spf13/pflag"
	"sigs.k8s.io/yaml"

	"stoic/cli/command"
	"stoic/schema"
	"stoic/training"
)

// waitFlags are the flags for how workers of a PyTorchJob wait for their master.
type waitFlags struct {
	image, file string
	tries       int
}

const waitFile = "/etc/config/initContainer.yaml"

func (f *waitFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.image, "pytorch-init-container-image", training.WaitImage, "image of the init container in which workers of a PyTorchJob wait for the master")
	flags.StringVar(&f.file, "pytorch-init-container-template-file", waitFile, "a file with init containers to use instead, as YAML; {{.MasterAddr}}, {{.InitContainerImage}} and {{.MaxTries}} are filled in; it need not exist")
	flags.IntVar(&f.tries, "pytorch-init-container-max-tries", training.WaitTries, "how often the init container asks for the master's name, every two seconds, before it fails")
}

// cluster returns the settings of the cluster that kinds use.
func (f *waitFlags) cluster() (training.Cluster, error) {
	cluster := training.Cluster{Domain: os.Getenv("CUSTOM_CLUSTER_DOMAIN"), WaitFor: training.WaitWith(f.image, f.tries)}
	if f.tries < 1 {
		return cluster, command.UsageError(fmt.Errorf("--pytorch-init-container-max-tries: found %d, must be at least 1", f.tries))
	}
	text, err := os.ReadFile(f.file)
	if errors.Is(err, fs.ErrNotExist) && f.file == waitFile {
		return cluster, nil
	}
	if err != nil {
		return cluster, command.UsageError(fmt.Errorf("--pytorch-init-container-template-file: %w", err))
	}
	containers, err := f.template(string(text))
	if err == nil {
		_, err = containers("job-master-0")
	}
	if err != nil {
		return cluster, command.UsageError(fmt.Errorf("--pytorch-init-container-template-file: %s: %w", f.file, err))
	}
	cluster.WaitFor = func(host string) []json.RawMessage {
		filled, _ := containers(host) // which it did when it was tried; a host is a host
		return filled
	}
	return cluster, nil
}

// WithDefaults returns the kinds as "up" serves them: with the defaults.
func WithDefaults(kinds []*training.Kind) []*training.Kind {
	for i := range kinds {
		kinds[i] = kinds[i].In(training.Cluster{WaitFor: training.WaitWith(training.WaitImage, training.WaitTries)})
	}
	return kinds
}

// template parses init containers with placeholders.
func (f *waitFlags) template(text string) (func(host string) ([]json.RawMessage, error), error) {
	parsed, err := template.New("init containers").Option("missingkey=error").Parse(text)
	if err != nil {
		return nil, fmt.Errorf("read the template: %w", err)
	}
	return func(host string) ([]json.RawMessage, error) {
		var filled bytes.Buffer
		values := map[string]any{"MasterAddr": host, "InitContainerImage": f.image, "MaxTries": f.tries}
		if err := parsed.Execute(&filled, values); err != nil {
			return nil, fmt.Errorf("fill in the template: %w", err)
		}
		var containers []map[string]any
		if err := yaml.Unmarshal(filled.Bytes(), &containers); err != nil {
			return nil, fmt.Errorf("read the filled-in template, which must be a list of containers: %w", err)
		}
		list := make([]json.RawMessage, len(containers))
		for i, c := range containers {
			if name, _ := c["name"].(string); name == "" {
				return nil, fmt.Errorf("init container %d has no name", i)
			}
			list[i] = schema.JSON(c)
		}
		return list, nil
	}, nil
}
