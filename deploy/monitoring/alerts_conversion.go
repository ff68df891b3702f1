package monitoring

import (
	"fmt"
	"time"
)

// conversion: can jobs be read and written in other versions than they are stored in? Only a process that serves the webhook has these
// metrics.
func conversion() []Alert {
	// The end of the certificate that ends first, of the processes of an operator: API servers speak to any of them.
	left := by("min", "", "training_operator_conversion_certificate_not_after_timestamp_seconds > 0") + " - time()"
	return []Alert{
		{
			Name: "TrainingOperatorConversionCertificate", Severity: Warning, For: time.Hour,
			// A certificate of `stoic webhook certificate` is for a year, and nothing renews it. cert-manager renews one of 90 days 30 days before
			// its end, so that three weeks are left only where that has failed.
			Expression:  fmt.Sprintf("0 < (\n%s\n) < %d", indent(left), int((21 * 24 * time.Hour).Seconds())),
			Summary:     "The certificate of the training operator's conversion webhook ends soon.",
			Description: at + ` has a certificate for its conversion webhook that ends in {{ $value | humanizeDuration }}. From then on, no job can be read or written in another version than it is stored in.`,
		},
		{
			Name: "TrainingOperatorConversionFails", Severity: Warning,
			// An API server asks for what the CRDs say. Reviews that are refused are left out: any client that reaches the port can send them.
			Expression: fmt.Sprintf("%s > 0\nor\n%s <= 0",
				by("sum", "result", grown(`training_operator_conversion_requests_total{result="failed"}`, 15*time.Minute)), left),
			Summary:     "Training jobs cannot be converted to another version.",
			Description: at + ` {{ if $labels.result }}has answered {{ $value | printf "%.0f" }} requests for conversions with a failure within a quarter of an hour{{ else }}has a certificate for its conversion webhook that has ended{{ end }}. Who reads or writes jobs in another version than they are stored in gets an error.`,
		},
	}
}
