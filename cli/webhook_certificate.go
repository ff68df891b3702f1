package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/validation"
	sigsyaml "sigs.k8s.io/yaml"

	"stoic/cli/command"
	"stoic/controller/access"
	"stoic/controller/conversion/manifest"
	"stoic/convert"
)

// certificateFlags say what a certificate is made for.
type certificateFlags struct {
	file, service, crds, secret string
	days                        int
}

func newCertificateCommand() *cobra.Command {
	var f certificateFlags
	cmd := &cobra.Command{
		Use:   "certificate -f FILE | --service NAMESPACE/NAME",
		Short: "Print the Secret and the CRDs of a conversion webhook with a certificate that is made for it",
		Long: `Read manifests, make a certificate for the Service that their CRDs name as a conversion webhook, and print all of them again,
with the certificate's authority in the CRDs and with the certificate and its key in a Secret. To renew it, run it again and apply what
it prints: the webhook reads the Secret again. It works for any operator. The key of the authority is not kept.

With --service it reads no manifests and prints the Secret alone, in which ca.crt is the authority.

Where cert-manager makes certificates, it can do without: see docs/versions.md.

Exit code: 0 done, 1 a manifest is wrong or no CRD names a webhook, 2 the file could not be read or written or the call was
wrong, 130 it was interrupted.`,
		Example: `  kubectl kustomize overlay | stoic webhook certificate -f - | kubectl apply --server-side -f -
  stoic webhook certificate --service kubeflow/training-operator-conversion | kubectl apply --server-side -f -`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.run(cmd.Context(), cmd.InOrStdin(), cmd.OutOrStdout(), time.Now())
		},
	}
	cmd.Flags().StringVarP(&f.file, "filename", "f", "", `manifests; "-" is standard input`)
	cmd.Flags().StringVar(&f.service, "service", "", "namespace and name of the Service, with a slash between; instead of manifests")
	cmd.Flags().StringVar(&f.crds, "crds", "", "file that the CRDs are written to, instead of being printed with the rest, to be applied after it")
	cmd.Flags().StringVar(&f.secret, "secret", "", "name of the Secret (default: that of the Service)")
	cmd.Flags().IntVar(&f.days, "days", 365, "how long the certificate is valid")
	_ = cmd.MarkFlagFilename("filename", "yaml", "yml", "json") // the flag is defined above
	none := cobra.NoFileCompletions
	command.CompleteFlags(cmd, map[string]cobra.CompletionFunc{"service": none, "secret": none, "days": none})
	return cmd
}

func (f *certificateFlags) check() error {
	const longest = 3650
	namespace, name, both := strings.Cut(f.service, "/")
	switch {
	case f.file == "" && f.service == "":
		return command.UsageError(errors.New("--filename: not found, must be a file of manifests, or --service be given"))
	case f.file != "" && f.service != "":
		return command.UsageError(errors.New("--service: found with --filename, must be one of the two"))
	case f.service != "" && (!both || len(validation.IsDNS1123Label(namespace)) > 0 || len(validation.IsDNS1123Label(name)) > 0):
		return command.UsageError(fmt.Errorf("--service: found %q, must be NAMESPACE/NAME, two names of lower case letters, digits and -", f.service))
	case f.secret != "" && len(validation.IsDNS1123Subdomain(f.secret)) > 0:
		return command.UsageError(fmt.Errorf("--secret: found %q, must be a name of lower case letters, digits, - and dots", f.secret))
	case f.service != "" && f.crds != "":
		return command.UsageError(errors.New("--crds: found with --service, must be given with --filename"))
	case f.days < 1 || f.days > longest:
		return command.UsageError(fmt.Errorf("--days: found %d, must be 1 to %d", f.days, longest))
	}
	return nil
}

func (f *certificateFlags) run(ctx context.Context, in io.Reader, out io.Writer, now time.Time) error {
	if err := f.check(); err != nil {
		return err
	}
	if f.service != "" {
		namespace, name, _ := strings.Cut(f.service, "/")
		secret, _, err := f.certificate(now, [2]string{namespace, name})
		if err != nil {
			return err
		}
		return printAll(out, []map[string]any{secret})
	}
	content, err := source{name: f.file, stdin: f.file == "-"}.read(ctx, in)
	switch {
	case errors.Is(err, command.ErrInterrupted):
		return err
	case err != nil:
		return command.UsageError(fmt.Errorf("--filename: %w", err))
	}
	all, err := manifestsOf(content)
	if err != nil {
		return err
	}
	service, webhooks, err := webhooksOf(all)
	if err != nil {
		return err
	}
	secret, authority, err := f.certificate(now, service)
	if err != nil {
		return err
	}
	for _, w := range webhooks {
		w["caBundle"] = authority
	}
	rest := append(all, secret)
	if f.crds != "" {
		if rest, err = f.writeCRDs(rest); err != nil {
			return err
		}
	}
	return printAll(out, rest)
}

// webhooksOf returns the client configurations of the webhooks that the CRDs name, and their Service, which must be the same.
func webhooksOf(all []map[string]any) (service [2]string, webhooks []map[string]any, err error) {
	for _, m := range all {
		webhook, name := conversionOf(m)
		switch {
		case webhook == nil:
			continue
		case service != [2]string{} && service != name:
			return service, nil, fmt.Errorf("the CRDs name two Services, %s/%s and %s/%s, must name one", service[0], service[1], name[0], name[1])
		}
		service, webhooks = name, append(webhooks, webhook)
	}
	if len(webhooks) == 0 {
		return service, nil, errors.New("no CRD names a Service as its conversion webhook")
	}
	return service, webhooks, nil
}

// certificate returns a Secret with a certificate for a Service, by namespace and name, and the authority that signed it.
func (f *certificateFlags) certificate(now time.Time, service [2]string) (secret map[string]any, authority []byte, err error) {
	host := service[1] + "." + service[0] + ".svc"
	authority, crt, key, err := manifest.Certificate(now, time.Duration(f.days)*24*time.Hour, host, host+".cluster.local")
	if err != nil {
		return nil, nil, err
	}
	return map[string]any{"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": cmp.Or(f.secret, service[1]), "namespace": service[0]},
		"type": "kubernetes.io/tls", "data": map[string]any{access.CertFile: crt, access.KeyFile: key, authorityFile: authority}}, authority, nil
}

// authorityFile is the key of the authority in a Secret; cert-manager uses it, too.
const authorityFile = "ca.crt"

// writeCRDs writes all CRDs, including those without a webhook, to their file, and returns the other manifests.
func (f *certificateFlags) writeCRDs(all []map[string]any) (rest []map[string]any, err error) {
	var crds []map[string]any
	for _, m := range all {
		if m["kind"] == "CustomResourceDefinition" {
			crds = append(crds, m)
		} else {
			rest = append(rest, m)
		}
	}
	var b bytes.Buffer
	if err := printAll(&b, crds); err != nil {
		return nil, err
	}
	if err := os.WriteFile(f.crds, b.Bytes(), 0o644); err != nil {
		return nil, command.UsageError(fmt.Errorf("--crds: %w", err))
	}
	return rest, nil
}

// manifestsOf returns the documents of a file, and the items of lists in it, which kubectl applies one by one.
func manifestsOf(content []byte) (all []map[string]any, err error) {
	for _, doc := range documents(content, false) {
		e, err := parsedInLine(doc)
		if err != nil {
			return nil, err
		}
		e.each(func(e entry) {
			m, ok := e.raw.(map[string]any)
			switch {
			case !ok && err == nil && e.raw != nil:
				line, _ := doc.position(find(e.node, e.prefix, false))
				err = fmt.Errorf("line %d: found %s, must be an object", line, convert.Found(e.raw))
			case len(m) > 0:
				all = append(all, m)
			}
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// conversionOf returns the client configuration of a CRD's webhook, and its Service; nil if the object is not a CRD that names one.
func conversionOf(m map[string]any) (client map[string]any, service [2]string) {
	if m["kind"] != "CustomResourceDefinition" {
		return nil, service
	}
	at := m
	for _, key := range []string{"spec", "conversion", "webhook", "clientConfig"} {
		at, _ = at[key].(map[string]any)
	}
	s, _ := at["service"].(map[string]any)
	service[0], _ = s["namespace"].(string)
	if service[1], _ = s["name"].(string); service[0] == "" || service[1] == "" {
		return nil, [2]string{}
	}
	return at, service
}

func printAll(out io.Writer, all []map[string]any) error {
	var b bytes.Buffer
	for _, m := range all {
		text, err := sigsyaml.Marshal(m)
		if err != nil {
			return fmt.Errorf("write %v: %w", m["kind"], err)
		}
		b.WriteString("---\n")
		b.Write(text)
	}
	if _, err := out.Write(b.Bytes()); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return nil
}
