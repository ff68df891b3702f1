package cli

import "strings"

// quoted is a word as a shell of Unix has to be given it.
func quoted(word string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%+=:,./-_"
	if word != "" && strings.Trim(word, plain) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// commandLine is what a user can type to run a program.
func commandLine(words ...string) string {
	quotedWords := make([]string, len(words))
	for i, word := range words {
		quotedWords[i] = quoted(word)
	}
	return strings.Join(quotedWords, " ")
}
