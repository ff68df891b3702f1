package authors

import (
	"fmt"
	"strings"
)

// Step is a step of the tutorial: the text below one heading.
type Step struct {
	Title  string
	Blocks []Block
}

// Block is one fenced block of a step.
type Block struct {
	Line int // of its first line in the page
	// File is named by a comment in the first line; "": the block is not a file.
	File string
	Text string
	// Script is a block of language sh.
	Script string
	// Stays: the script runs in a separate terminal until it is interrupted.
	Stays bool
	// Commands are those of a block of language console.
	Commands []Command
}

// Command is a command line, and its output.
type Command struct{ Line, Prints string }

// Parse parses the part of a page below the heading that begins with this text. Each heading one level deeper is a step.
func Parse(page, heading string) (steps []Step, err error) {
	const above, below = "## ", "### "
	inside, fence := false, ""
	var block []string
	first := 0
	for number, line := range strings.Split(page, "\n") {
		switch {
		case fence == "" && strings.HasPrefix(line, above):
			inside = strings.HasPrefix(strings.TrimPrefix(line, above), heading)
		case fence == "" && inside && strings.HasPrefix(line, below):
			steps = append(steps, Step{Title: strings.TrimPrefix(line, below)})
		case fence == "" && strings.HasPrefix(line, "```"):
			fence, block, first = strings.TrimPrefix(line, "```")+" ", nil, number+2
		case fence != "" && line == "```":
			if inside && len(steps) > 0 {
				b, err := read(strings.TrimSpace(fence), block)
				if err != nil {
					return nil, fmt.Errorf("line %d: %w", first, err)
				}
				b.Line = first
				last := &steps[len(steps)-1]
				last.Blocks = append(last.Blocks, b)
			}
			fence = ""
		case fence != "":
			block = append(block, line)
		}
	}
	return steps, nil
}

// read reads a block of a language.
func read(language string, lines []string) (b Block, err error) {
	switch language {
	case "go", "yaml":
		comment := map[string]string{"go": "// ", "yaml": "# "}[language]
		file, named := strings.CutPrefix(lines[0], comment)
		if !named || strings.Contains(file, " ") {
			return b, fmt.Errorf("found %q, must be a comment that names the file", lines[0])
		}
		return Block{File: file, Text: strings.TrimSpace(strings.Join(lines[1:], "\n")) + "\n"}, nil
	case "sh":
		if b.Stays = lines[0] == "# stays"; b.Stays {
			lines = lines[1:]
		}
		b.Script = strings.Join(lines, "\n")
		return b, nil
	case "console":
		for _, line := range lines {
			if call, is := strings.CutPrefix(line, "$ "); is {
				b.Commands = append(b.Commands, Command{Line: call})
			} else if len(b.Commands) > 0 {
				b.Commands[len(b.Commands)-1].Prints += line + "\n"
			} else {
				return b, fmt.Errorf("found %q, must be a command behind a dollar sign", line)
			}
		}
		return b, nil
	}
	return b, fmt.Errorf("found the language %q, must be go, yaml, sh or console", language)
}
