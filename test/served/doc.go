// Package served answers one question: WHAT IS INSTALLED FOR THE KINDS OF SEVERAL VERSIONS OF THIS PROJECT? Tests use it.
package served
