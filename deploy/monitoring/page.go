package monitoring

import (
	"fmt"
	"strings"
)

// page lists alerts and recording rules, for documentation.
func page() []byte {
	var b strings.Builder
	b.WriteString("<!-- Written by `make generate`; do not edit. -->\n# Alerts and recording rules\n\n" +
		"How to install them: [docs/monitoring.md](../monitoring.md). After: for how long the condition must hold.\n\n" +
		"| alert | severity | after | what it says |\n|---|---|---|---|\n")
	for _, a := range Alerts() {
		after := "at once"
		if a.For > 0 {
			after = short(a.For)
		}
		fmt.Fprintf(&b, "| [%s](../runbooks/%s.md) | %s | %s | %s |\n", a.Name, a.Name, a.Severity, after, a.Summary)
	}
	b.WriteString("\nSeries that recording rules keep. The labels `namespace` and `job` say which operator it is; those that the name begins with follow.\n\n" +
		"| series | what it is |\n|---|---|\n")
	for _, r := range Recordings() {
		fmt.Fprintf(&b, "| `%s` | %s |\n", r.Record, r.What)
	}
	return []byte(b.String())
}
