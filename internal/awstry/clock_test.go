package awstry_test

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go/middleware"

	"github.com/seed-41655fb1/weft/internal/awstry"
)

// answers fakes a service: each request takes some time, and the service's clock differs from the
// process's.
type answers struct {
	takes, differs time.Duration
	age            string
}

func (a *answers) Do(*http.Request) (*http.Response, error) {
	date := time.Now().Add(a.differs)
	time.Sleep(a.takes)
	header := http.Header{"Date": {date.UTC().Format(http.TimeFormat)}, "Content-Type": {"application/x-amz-json-1.0"}}
	if a.age != "" {
		header.Set("Age", a.age)
	}
	return &http.Response{StatusCode: http.StatusOK, Header: header, Body: io.NopCloser(strings.NewReader("{}"))}, nil
}

// A clock that is wrong by more than Weft tolerates is reported, and at most every ten minutes. How
// long a request took does not count.
func TestWatchClock(t *testing.T) {
	t.Parallel()
	const tolerated = awstry.Tolerated
	for name, test := range map[string]struct {
		answers answers
		want    []time.Duration // of three requests at intervals of six minutes
	}{
		"right":                     {answers{}, nil},
		"right, and a slow request": {answers{takes: time.Hour}, nil},
		"as far ahead as allowed":   {answers{differs: -tolerated}, nil},
		"as far behind as allowed":  {answers{differs: tolerated}, nil},
		"ahead":                     {answers{differs: -time.Minute}, []time.Duration{59 * time.Second, 59 * time.Second}},
		"behind":                    {answers{differs: time.Minute}, []time.Duration{-time.Minute, -time.Minute}},
		"ahead, by a cached answer": {answers{differs: -time.Minute, age: "60"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var reported []time.Duration
				client := dynamodb.New(dynamodb.Options{
					Region: "eu-west-1", HTTPClient: &test.answers, Credentials: aws.NewCredentialsCache(credentials.NewStaticCredentialsProvider("id", "secret", "")),
					APIOptions: []func(*middleware.Stack) error{awstry.WatchClock(func(d time.Duration) { reported = append(reported, d) })},
				})
				for range 3 {
					if _, err := client.ListTables(t.Context(), nil); err != nil {
						t.Fatal(err)
					}
					time.Sleep(6 * time.Minute)
				}
				if !slices.Equal(reported, test.want) {
					t.Errorf("reported %v, want %v", reported, test.want)
				}
			})
		})
	}
}
