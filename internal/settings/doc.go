// Package settings declares what operators set: each setting once, as a field of a struct.
//
//	Function   a Lambda function: variables, which infra/sam and infra/terraform give it
//	Server     a local server: flags, and variables
//
// A field's type says what values there are. Its tag says the rest:
//
//	env          the variable
//	help         what the setting says, for the help of a command, both infrastructures and
//	             docs/settings.md; the default, if there is one, stands at the end, in parentheses
//	name         the flag, if it is not the field's name with hyphens
//	placeholder  what stands for the value in the help
//	enum         the values that there are; the first is the default
//	required     that it has to be set
//	most         the largest number or duration
//	parameter    the parameter of the template; that of the module is the same in small letters
//	pattern      what the value of the parameter matches
//	wrong        what the module says about another one
//	reader       what reads it in the place of Read
//	given        how the functions get it, if no parameter is handed on to all of them
//
// kong reads Server, and Read reads Function. Tests write infra/sam, infra/terraform/settings.tf
// and docs/settings.md from the declarations, and hold all that the documents name to them: go test
// ./infra -run TestSettings -tables.
package settings
