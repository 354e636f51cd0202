// Package filter reads the filters of the list of workflows: a part of the language that Temporal
// has for it.
//
//	filter     = condition { "AND" condition }
//	condition  = name operator value                              = != < <= > >=
//	           | name "IN" "(" value { "," value } ")"
//	           | name "BETWEEN" value "AND" value                 both included
//	           | name "STARTS_WITH" text
//	           | name "IS" [ "NOT" ] "NULL"
//	value      = text | number | "TRUE" | "FALSE"
//	text       = "'" ... "'" | '"' ... '"'                        a quote in it is doubled
//
// Words may be in upper or lower case. A name is that of a search attribute, or of an attribute
// that every run has:
//
//	WorkflowId, RunId, WorkflowType    text
//	BuildId                            text; NULL if the newest build runs it
//	ExecutionStatus                    'Running', 'Completed', ..., also as the API writes them: 'running'
//	StartTime, CloseTime               a moment, as text in RFC 3339; CloseTime is NULL while the run is open
//
// A run that lacks an attribute, or has it with a type other than the value's, meets no condition
// on it except IS NULL. A list of keywords meets a condition if one of its keywords does, and != if
// none is the value. Texts are compared by their bytes.
//
// There is no OR and no NOT: DynamoDB answers neither faster than two lists do.
package filter
