package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/retry"
)

// redefine replaces CRDs by those of a manifest, at the server at which they are defined. With --crs=aggregated that server serves
// nothing else, and kubectl cannot use such a server.
func redefine(ctx context.Context, kubeconfig string, manifest []byte) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return fmt.Errorf("read the kubeconfig for definitions: %w", err)
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("make a client for definitions: %w", err)
	}
	crds := client.Resource(runtimeschema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	documents := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(manifest), 4096)
	for {
		crd := &unstructured.Unstructured{}
		err := documents.Decode(&crd.Object)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the definitions: %w", err)
		}
		if len(crd.Object) == 0 {
			continue // a comment alone
		}
		err = retry.RetryOnConflict(retry.DefaultBackoff, func() error { // the server writes conditions
			now, err := crds.Get(ctx, crd.GetName(), metav1.GetOptions{})
			if err != nil {
				return err
			}
			crd.SetResourceVersion(now.GetResourceVersion())
			_, err = crds.Update(ctx, crd, metav1.UpdateOptions{})
			return err
		})
		if err != nil {
			return fmt.Errorf("replace the definition %s: %w", crd.GetName(), err)
		}
	}
}
