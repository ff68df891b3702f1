package plane

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
)

const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

// definition is what we read of a custom resource definition, or of the API
// server's refusal to create one.
type definition struct {
	Metadata struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Spec struct {
		Group string `json:"group"`
		Names struct {
			Plural string `json:"plural"`
		} `json:"names"`
		Versions []struct {
			Name string `json:"name"`
		} `json:"versions"`
	} `json:"spec"`
	Status json.RawMessage `json:"status"`
	// Details are set in a refusal.
	Details struct {
		Name string `json:"name"`
	} `json:"details"`
}

func (d definition) established() bool {
	var status struct {
		Conditions []struct {
			Type   string `json:"type"`
			Status string `json:"status"`
		} `json:"conditions"`
	}
	// A refusal has a string for its status; that is not an established kind.
	if json.Unmarshal(d.Status, &status) != nil {
		return false
	}
	for _, condition := range status.Conditions {
		if condition.Type == "Established" && condition.Status == "True" {
			return true
		}
	}
	return false
}

// manifests reads the YAML and JSON documents at the paths.
func manifests(paths []string) ([][]byte, error) {
	var documents [][]byte
	for _, path := range paths {
		files := []string{path}
		if info, err := os.Stat(path); err != nil {
			return nil, fmt.Errorf("find the manifests: %w", err)
		} else if info.IsDir() {
			files = nil
			for _, pattern := range []string{"*.yaml", "*.yml", "*.json"} {
				found, err := filepath.Glob(filepath.Join(path, pattern))
				if err != nil {
					return nil, fmt.Errorf("list the manifests in %s: %w", path, err)
				}
				files = append(files, found...)
			}
			slices.Sort(files)
		}
		for _, file := range files {
			content, err := os.ReadFile(file)
			if err != nil {
				return nil, fmt.Errorf("read a manifest: %w", err)
			}
			documents = append(documents, split(content)...)
		}
	}
	return documents, nil
}

// split separates YAML documents and drops those that say nothing.
func split(content []byte) [][]byte {
	separator := regexp.MustCompile(`(?m)^---.*$`)
	meaning := regexp.MustCompile(`(?m)^\s*[^#\s]`)
	var documents [][]byte
	for _, document := range separator.Split(string(content), -1) {
		if meaning.MatchString(document) {
			documents = append(documents, bytes.TrimSpace([]byte(document)))
		}
	}
	return documents
}

// define creates custom resource definitions and waits until they are served.
// It happens before the controller manager starts: its garbage collector looks
// for new kinds only now and then, and would delete the dependents of a kind
// that came later only after half a minute.
func (p *plane) define(ctx context.Context, documents [][]byte) error {
	server, all := p.definitionsAddress(), []definition(nil)
	for _, document := range documents {
		made, err := p.client.define(ctx, server, document)
		if err != nil {
			return err
		}
		name := made.Metadata.Name
		what := "the API server serves " + name
		err = await(ctx, what, p.children, func() (bool, string) {
			var d definition
			code, answer, err := p.client.do(ctx, http.MethodGet, server+definitions+"/"+name, "", nil)
			if err == nil {
				err = json.Unmarshal(answer, &d)
			}
			if err != nil {
				return false, err.Error()
			}
			return code == http.StatusOK && d.established(), "it is not established yet"
		})
		if err != nil {
			return err
		}
		all = append(all, made)
	}
	if !p.options.isAggregated() {
		return nil
	}
	return p.register(ctx, all)
}

// define creates or replaces one definition and returns what it is.
func (c *client) define(ctx context.Context, server string, document []byte) (definition, error) {
	code, answer, err := c.do(ctx, http.MethodPost, server+definitions, "application/yaml", document)
	if err != nil {
		return definition{}, err
	}
	var d definition
	if err := json.Unmarshal(answer, &d); err != nil {
		return definition{}, fmt.Errorf("read the answer to a definition: %w", err)
	}
	if code == http.StatusConflict {
		if code, answer, err = c.apply(ctx, server+definitions+"/"+d.Details.Name, document); err != nil {
			return definition{}, err
		}
		if err := json.Unmarshal(answer, &d); err != nil {
			return definition{}, fmt.Errorf("read the answer to a definition: %w", err)
		}
	}
	if code/100 != 2 {
		return definition{}, fmt.Errorf("create a custom resource definition: status %d: %s", code, answer)
	}
	return d, nil
}
