package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"stoic/cli"
)

// flags lists every command with its flags, as the commands themselves declare them.
func flags() (string, error) {
	root := cli.Commands()
	var b strings.Builder
	b.WriteString("# Commands and flags\n\n" + root.Long + "\n\n")
	b.WriteString(`Every command has ` + "`-h`, `--help`" + `. Called as ` + "`manager`" + `, the program is ` + "`stoic controller`" + `; called as
` + "`kubectl-stoic`" + `, it is a plugin of kubectl: ` + "`kubectl stoic`" + `. kubectl completes
it where an executable ` + "`kubectl_complete-stoic`" + ` on the PATH runs ` + "`kubectl-stoic __complete \"$@\"`" + `.

Every command has examples, and most have more to say, in its ` + "`--help`" + `.

Exit codes: 0 done; 1 it failed, or something is wrong with a manifest; 2 it was called wrongly, or a file or
cluster that it was to check could not be read; 130 it was interrupted before it was done.
`)
	for _, c := range withGroups(root) {
		command(&b, c)
	}
	return b.String(), nil
}

// withGroups returns the commands that help shows, each followed by its subcommands, except those of completion (one per shell).
func withGroups(root *cobra.Command) (all []*cobra.Command) {
	for _, c := range visible(root) {
		if all = append(all, c); c.Name() != "completion" {
			all = append(all, withGroups(c)...)
		}
	}
	return all
}

// visible returns the commands that help shows.
func visible(root *cobra.Command) []*cobra.Command {
	var found []*cobra.Command
	for _, c := range root.Commands() {
		if c.IsAvailableCommand() {
			found = append(found, c)
		}
	}
	return found
}

func command(b *strings.Builder, c *cobra.Command) {
	b.WriteString("\n## " + c.CommandPath() + "\n\n")
	about := c.Long
	if about == "" || c.Name() == "completion" { // cobra's own text is about files of shells
		about = c.Short + "."
	}
	b.WriteString(summary(c, about) + "\n")
	if c.HasAvailableSubCommands() {
		var names []string
		for _, sub := range visible(c) {
			names = append(names, sub.Name())
		}
		b.WriteString("\nIts argument is one of " + list(names) + ".\n")
	}
	var rows, ignored [][]string
	c.LocalFlags().VisitAll(func(f *pflag.Flag) {
		switch {
		case f.Name == "help":
		case f.Hidden:
			ignored = append(ignored, []string{code("--" + f.Name)})
		default:
			kind, usage := pflag.UnquoteUsage(f)
			rows = append(rows, []string{name(f, kind), fallback(f), usage})
		}
	})
	if len(rows) > 0 {
		b.WriteString("\n" + table([]string{"flag", "default", "what it does"}, rows))
	}
	if len(ignored) > 0 {
		b.WriteString("\nAccepted without effect, with a warning in the log, so that the command line of training-operator can stay:\n")
		for _, f := range ignored {
			b.WriteString("\n* " + f[0])
		}
		b.WriteString("\n")
	}
}

// summary returns the first paragraph of the help of a command, and all of it for the commands that are run in a cluster, whose
// administrators may not have the program at hand.
func summary(c *cobra.Command, help string) string {
	help = strings.TrimSpace(help)
	if slices.Contains([]string{"stoic controller", "stoic webhook"}, c.CommandPath()) {
		return help
	}
	first, _, _ := strings.Cut(help, "\n\n")
	return first
}

// name returns a flag as "`-o`, `--output` string".
func name(f *pflag.Flag, kind string) string {
	written := code("--" + f.Name)
	if f.Shorthand != "" {
		written = code("-"+f.Shorthand) + ", " + written
	}
	return strings.TrimSpace(written + " " + kind)
}

// fallback returns the default, unless it is empty.
func fallback(f *pflag.Flag) string {
	switch f.DefValue {
	case "", "[]":
		return ""
	}
	return code(f.DefValue)
}
