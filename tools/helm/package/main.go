// Package answers one question: WHICH CHART BELONGS TO AN IMAGE?
//
// It writes the archive of deploy/chart with the version of a release. Its values name the image by digest: a user who installs the chart
// without setting values runs the image that was signed with it.
//
//	go -C tools/helm run ./package -version v1.2.3 -repository ghcr.io/owner/stoic -digest sha256:...
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"

	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/chart/v2/util"
)

func main() {
	if err := run(os.Args[1:], os.Stdout, os.Stderr); err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(os.Stderr, "error:", err)
		}
		os.Exit(1)
	}
}

// facts are what a release adds to the chart.
type facts struct{ version, repository, digest string }

func run(args []string, out, errOut io.Writer) error {
	var f facts
	flags := flag.NewFlagSet("package", flag.ContinueOnError)
	flags.SetOutput(errOut)
	from := flags.String("chart", "../../deploy/chart", "folder of the chart")
	to := flags.String("out", "../../bin/chart", "folder to write the archive into")
	flags.StringVar(&f.version, "version", "", "tag of the release, such as v1.2.3")
	flags.StringVar(&f.repository, "repository", "", "repository of the image")
	flags.StringVar(&f.digest, "digest", "", "digest of the image, sha256:...")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if err := f.check(); err != nil {
		return err
	}
	c, err := loader.LoadDir(*from)
	if err != nil {
		return fmt.Errorf("read the chart: %w", err)
	}
	if err := f.write(c); err != nil {
		return err
	}
	file, err := util.Save(c, *to)
	if err != nil {
		return fmt.Errorf("write the chart: %w", err)
	}
	_, err = fmt.Fprintln(out, file)
	return err
}

// check returns what is wrong with the facts. A registry accepts no repository with capital letters, which names of GitHub owners may
// have.
func (f facts) check() error {
	for _, fact := range []struct{ flag, value, pattern, wanted string }{
		{"-version", f.version, `^v\d+\.\d+\.\d+[-+.0-9A-Za-z]*$`, "a tag such as v1.2.3"},
		{"-repository", f.repository, `^[a-z0-9][a-z0-9._:/-]*$`, "a repository in lower case"},
		{"-digest", f.digest, `^sha256:[0-9a-f]{64}$`, "sha256: and 64 digits"},
	} {
		if !regexp.MustCompile(fact.pattern).MatchString(fact.value) {
			return fmt.Errorf("%s: found %q, must be %s", fact.flag, fact.value, fact.wanted)
		}
	}
	return nil
}

// write writes the facts into the chart: into the text of its values, to keep the comments for readers.
func (f facts) write(c *chart.Chart) error {
	c.Metadata.Version, c.Metadata.AppVersion = strings.TrimPrefix(f.version, "v"), f.version
	for _, file := range c.Raw {
		if file.Name != util.ValuesfileName {
			continue
		}
		for _, line := range []struct{ was, is string }{
			{"\n  repository: stoic\n", "\n  repository: " + f.repository + "\n"},
			{"\n  digest: \"\"\n", "\n  digest: " + f.digest + "\n"},
		} {
			if n := bytes.Count(file.Data, []byte(line.was)); n != 1 {
				return fmt.Errorf("write the image into %s: found %q %d times, must be once", file.Name, line.was, n)
			}
			file.Data = bytes.Replace(file.Data, []byte(line.was), []byte(line.is), 1)
		}
		return nil
	}
	return errors.New("write the image into the values: the chart has none")
}
