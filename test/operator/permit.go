package operator

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"

	"stoic/cli/cluster"
)

// User is the service account that deploy/rbac binds.
const User = "system:serviceaccount:kubeflow:training-operator"

// Permit installs the namespace and the permissions of deploy/, and more manifests of the checkout, as the administrator with
// this kubeconfig.
func Permit(ctx context.Context, kubeconfig, root string, more ...string) error {
	args := []string{"apply"}
	for _, manifest := range append([]string{"deploy/namespace.yaml", "deploy/rbac"}, more...) {
		args = append(args, "-f", filepath.Join(root, manifest))
	}
	_, err := Kubectl(ctx, kubeconfig, nil, args...)
	return err
}

// Kubectl runs kubectl and returns its output, also if it fails.
func Kubectl(ctx context.Context, kubeconfig string, in []byte, args ...string) (out string, err error) {
	cmd := exec.CommandContext(ctx, "kubectl", append(cluster.KubectlArguments(kubeconfig), args...)...)
	cmd.Stdin = bytes.NewReader(in)
	text, err := cmd.CombinedOutput()
	if err != nil {
		return string(text), fmt.Errorf("kubectl %s: %w\n%s", strings.Join(args, " "), err, text)
	}
	return string(text), nil
}
