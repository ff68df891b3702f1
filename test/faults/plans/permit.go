package plans

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
)

// permit installs the namespace and the permissions that deploy/ gives to the operator.
func (s *Stage) permit(ctx context.Context) error {
	for _, file := range []string{"deploy/namespace.yaml", "deploy/rbac"} {
		out, err := exec.CommandContext(ctx, "kubectl", "--kubeconfig", s.cluster.Kubeconfig(), "apply", "-f", filepath.Join(s.options.Root, file)).CombinedOutput()
		if err != nil {
			return fmt.Errorf("install %s: %w\n%s", file, err, out)
		}
	}
	return nil
}
