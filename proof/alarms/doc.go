// Package alarms decides in which state alarms of CloudWatch are, by AWS's documented rules, from
// the alarms that were deployed and the data that a deployment sent. LocalStack cannot: it refuses
// most alarms, and takes no metrics from logs.
//
//	Parse     reads the answer of DescribeAlarms
//	ReadEMF   reads the metrics of a line of a log
//	Evaluate  says in which state an alarm is
//	Clock     makes periods of minutes pass in seconds
//
// The rules, by their pages in the CloudWatch User Guide:
//
//	M of the N latest data points have to breach        "Alarm evaluation"
//	which data points count if some are missing, and    "Configuring how CloudWatch alarms treat
//	when an alarm begins although most are missing      missing data"
//	data of a metric with other dimensions are those    "Dimensions"
//	of another metric
//	what a line of a log has to have                    "Specification: Embedded metric format"
//
// How many more data points than N an evaluation looks at is not documented. In AWS's examples it
// is two more than N, which this package takes for all alarms. So an alarm ends up to two periods
// later than N suggests, and one on missing data begins that much later.
//
// [Parse] returns an error for what this package does not know: expressions, percentiles, bands,
// units, and alarms on the namespace AWS/DynamoDB, for which AWS's pages contradict each other.
package alarms
