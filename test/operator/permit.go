package operator

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
)

// User is the service account that deploy/rbac binds.
const User = "system:serviceaccount:kubeflow:training-operator"

// Permit installs the namespace and the permissions of deploy/ as the administrator whose kubeconfig this is.
func Permit(ctx context.Context, kubeconfig, root string) error {
	_, err := Kubectl(ctx, kubeconfig, nil, "apply", "-f", filepath.Join(root, "deploy/namespace.yaml"), "-f", filepath.Join(root, "deploy/rbac"))
	return err
}

// Kubectl runs kubectl and returns what it writes, also if it fails.
func Kubectl(ctx context.Context, kubeconfig string, in []byte, args ...string) (out string, err error) {
	cmd := exec.CommandContext(ctx, "kubectl", append([]string{"--kubeconfig", kubeconfig}, args...)...)
	cmd.Stdin = bytes.NewReader(in)
	text, err := cmd.CombinedOutput()
	if err != nil {
		return string(text), fmt.Errorf("kubectl %s: %w\n%s", strings.Join(args, " "), err, text)
	}
	return string(text), nil
}
