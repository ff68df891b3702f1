package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"stoic/cli/command"
)

// source is one file, or standard input.
type source struct {
	name  string // as messages show it
	stdin bool
	found bool // in a folder that was named, and not named itself
}

// sourceFlags say which files a command reads.
type sourceFlags struct {
	files     []string
	recursive bool
	exclude   []string
}

// standardInput is the name of standard input in messages.
const standardInput = "<stdin>"

// register adds the flags of commands that read what sourcesOf finds.
func (f *sourceFlags) register(flags *pflag.FlagSet) {
	flags.StringSliceVarP(&f.files, "filename", "f", nil, "a file, a folder, or - for standard input; may be given more than once")
	flags.BoolVarP(&f.recursive, "recursive", "R", false, "also look into the folders of a folder; symbolic links to folders in it are not followed")
	flags.StringSliceVar(&f.exclude, "exclude", nil, "pass over files and folders in a folder that match this `glob`: by name, or by path from the folder if there is a slash in it; may be given more than once")
}

// check returns an error for a pattern that is none.
func (f *sourceFlags) check() error {
	for _, pattern := range f.exclude {
		if _, err := path.Match(pattern, ""); err != nil {
			return command.UsageError(fmt.Errorf("--exclude: found %q, must be a pattern such as \"charts\" or \"config/*/patches\": %w", pattern, err))
		}
	}
	return nil
}

// excludes reports whether a pattern matches a file or folder, by its path from the folder that is read.
func (f *sourceFlags) excludes(below string) bool {
	below = filepath.ToSlash(below)
	for _, pattern := range f.exclude {
		pattern = strings.TrimSuffix(strings.TrimPrefix(pattern, "**/"), "/**")
		pattern = strings.TrimSuffix(strings.TrimPrefix(pattern, "./"), "/")
		of := path.Base(below)
		if strings.Contains(pattern, "/") {
			of = below
		}
		if matched, _ := path.Match(pattern, of); matched { // check has tried the pattern
			return true
		}
	}
	return false
}

// sourcesOf finds the files for the arguments: a folder means the manifests in it, in order of name.
func (f *sourceFlags) sourcesOf(ctx context.Context, arguments []string) (sources []source, unreadable []error) {
	for _, argument := range arguments {
		if argument == "-" {
			sources = append(sources, source{name: standardInput, stdin: true})
			continue
		}
		info, err := os.Stat(argument)
		switch {
		case err != nil:
			unreadable = append(unreadable, err)
		case !info.IsDir():
			sources = append(sources, source{name: argument})
		default:
			found, errs := f.manifestsIn(ctx, argument)
			if len(found) == 0 && len(errs) == 0 {
				errs = append(errs, fmt.Errorf("%s: no file ends in .yaml, .yml or .json; -R looks into folders, too", argument))
			}
			sources, unreadable = append(sources, found...), append(unreadable, errs...)
		}
	}
	return sources, unreadable
}

// manifestsIn lists the manifests in a folder. An unreadable subfolder does not hide the others. The folder itself may be a symbolic
// link. Links to folders below it are not followed, as they may form a cycle.
func (f *sourceFlags) manifestsIn(ctx context.Context, folder string) (found []source, unreadable []error) {
	root, err := filepath.EvalSymlinks(folder)
	if err != nil {
		return nil, []error{err}
	}
	_ = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return fs.SkipAll
		}
		below, errBelow := filepath.Rel(root, path)
		if err = cmp.Or(err, errBelow); err != nil {
			unreadable = append(unreadable, err)
			return nil
		}
		excluded := path != root && f.excludes(below)
		switch {
		case entry.IsDir() && path != root && (excluded || !f.recursive):
			return fs.SkipDir
		case !excluded && !entry.IsDir() && isManifest(path) && !leadsToFolder(path, entry):
			found = append(found, source{name: filepath.Join(folder, below), found: true})
		}
		return nil
	})
	return found, unreadable
}

func isManifest(path string) bool {
	return slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(path))
}

// leadsToFolder reports whether the entry is a symbolic link to a folder. A broken link is an error when it is read.
func leadsToFolder(path string, entry fs.DirEntry) bool {
	if entry.Type()&fs.ModeSymlink == 0 {
		return false
	}
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// read reads the whole source, unless a signal comes first. Opening a named pipe blocks until it has a writer.
func (s source) read(ctx context.Context, in io.Reader) ([]byte, error) {
	return command.Await(ctx, func() ([]byte, error) {
		if s.stdin {
			return io.ReadAll(in)
		}
		return os.ReadFile(s.name)
	})
}

// each calls see for each document in the content of the source, with the name of the file that the document was made from.
func (s source) each(ctx context.Context, content []byte, see func(file string, doc document)) error {
	all := documents(content, s.stdin)
	if len(all) == 0 && s.stdin {
		return fmt.Errorf("%s: holds no document", s.name)
	}
	for _, doc := range all {
		if ctx.Err() != nil {
			return command.ErrInterrupted
		}
		doc.found = s.found
		see(cmp.Or(doc.file, s.name), doc)
	}
	return nil
}

// read calls see for each document of each file that the flags name. It continues after a file that it cannot read, and returns
// those errors joined at the end. Standard input must hold a document: it is empty if the program before the pipe failed. A signal ends
// the call immediately.
func (f *sourceFlags) read(ctx context.Context, in io.Reader, see func(file string, doc document)) error {
	sources, unreadable := f.sourcesOf(ctx, f.files)
	for _, s := range sources {
		content, err := s.read(ctx, in)
		if err == nil {
			err = s.each(ctx, content, see)
		}
		switch {
		case errors.Is(err, command.ErrInterrupted):
			return err
		case err != nil:
			unreadable = append(unreadable, err)
		}
	}
	switch {
	case ctx.Err() != nil:
		return command.ErrInterrupted
	case len(unreadable) > 0:
		return &command.ExitError{Code: 2, Err: errors.Join(unreadable...)}
	}
	return nil
}
