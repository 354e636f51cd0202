// Package filter reads the filters of the list of workflows, which are those of Temporal's list.
//
//	filter     = [ any ] [ "ORDER" "BY" ( "StartTime" | "CloseTime" ) [ "ASC" | "DESC" ] ]
//	any        = all { "OR" all }
//	all        = term { "AND" term }
//	term       = "NOT" term | "(" any ")" | condition
//	condition  = name                                             it is TRUE
//	           | name operator value                              = != < <= > >=
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
//	Stuck                              TRUE or FALSE: whether its workflow tasks fail; also alone
//	StuckSince, FailureType            when the first of these tasks failed, and why; NULL if it is not stuck
//	Paused                             TRUE or FALSE; also alone
//	PausedSince                        a moment; NULL if it is not paused
//	Retrying                           TRUE or FALSE: whether attempts at a pending activity have failed; also alone
//	FailingActivity                    list of keywords: the types of these activities; NULL if there are none
//	CloseReason                        text: why it closed, in a word; NULL if its status says all
//	ParentWorkflowId                   text; NULL if no workflow started it
//
// A run that lacks an attribute, or has it with a type other than the value's, meets no condition
// on it except IS NULL. NOT turns a condition around, and there is no third value: a run without a
// region meets NOT (Region = 'eu') and not Region != 'eu'. A list of keywords meets a condition if
// one of its keywords does, and != if none is the value. Texts are compared by their bytes.
//
// Nobody registers search attributes, so a name that no run has may be misspelled. A [Look] finds
// such names.
package filter
