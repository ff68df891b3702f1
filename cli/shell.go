package cli

import (
	"strings"
)

// quoted returns a word as a Unix shell must receive it.
func quoted(word string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%+=:,./-_"
	if word != "" && strings.Trim(word, plain) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// commandLine returns what a user can type to run a program.
func commandLine(words ...string) string {
	quotedWords := make([]string, len(words))
	for i, word := range words {
		quotedWords[i] = quoted(word)
	}
	return strings.Join(quotedWords, " ")
}
