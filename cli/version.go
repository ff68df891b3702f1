package cli

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"
)

// version is set by the linker: -X stoic/cli.version=v1.2.3.
var version = "dev"

// Build says what this binary is.
type Build struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func build() Build {
	b := Build{Version: version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				b.Revision = s.Value
			case "vcs.modified":
				b.Modified = s.Value == "true"
			}
		}
	}
	return b
}

func newVersionCommand() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print what this binary is",
		Example: "  stoic version\n  stoic version -o json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			b := build()
			switch output {
			case "json":
				encoder := json.NewEncoder(cmd.OutOrStdout())
				encoder.SetIndent("", "  ")
				return encoder.Encode(b)
			case "":
				_, err := fmt.Fprintf(cmd.OutOrStdout(), "stoic %s (%s, %s)\n", b.Version, b.Go, b.Platform)
				return err
			}
			return usageError(fmt.Errorf("--output: found %q, must be \"json\" or be left out", output))
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", `"json" for programs`)
	return cmd
}

// BuildInfo is a metric that is always 1 and says in its labels what runs.
func BuildInfo() prometheus.Collector {
	b := build()
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "training_operator_build_info", Help: "What runs; always 1.",
		ConstLabels: prometheus.Labels{"version": b.Version, "revision": b.Revision, "goversion": b.Go}}, func() float64 { return 1 })
}
