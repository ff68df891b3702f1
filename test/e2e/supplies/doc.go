// Package supplies has the programs and images of a real node, which supplies.sh makes in the user's cache.
package supplies
