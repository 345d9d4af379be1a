// Asks the Go client what the lines of its input say (`Asked` in languages.ts), and answers each with a line.
package main

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"sync"
	"time"

	"webhookd"
)

type ask struct {
	ID          string          `json:"id"`
	Query       map[string]any  `json:"query"`
	Body        json.RawMessage `json:"body"`
	IfMatch     string          `json:"ifMatch"`
	IfNoneMatch string          `json:"ifNoneMatch"`
}

type asked struct {
	URL            string               `json:"url"`
	Socket         string               `json:"socket"`
	GiveUpAfterMs  int64                `json:"giveUpAfterMs"`
	Publish        *webhookd.EventDraft `json:"publish"`
	IdempotencyKey string               `json:"idempotencyKey"`
	Batch          []webhookd.BatchItem `json:"batch"`
	Call           []json.RawMessage    `json:"call"`
	WithETag       []json.RawMessage    `json:"withEtag"`
	Every          []json.RawMessage    `json:"every"`
	Verify         []json.RawMessage    `json:"verify"`
	Standard       []json.RawMessage    `json:"standard"`
}

func read[T any](text json.RawMessage) T {
	var value T
	if err := json.Unmarshal(text, &value); err != nil {
		panic(err)
	}
	return value
}

func reason(verdict webhookd.Verdict) any {
	if verdict.OK {
		return map[string]any{"reason": nil}
	}
	return map[string]any{"reason": verdict.Reason}
}

func bytesOf(text json.RawMessage) []byte {
	body, _ := base64.StdEncoding.DecodeString(read[string](text))
	return body
}

func tell(given asked) any {
	if given.Verify != nil {
		header := read[*string](given.Verify[1])
		if header == nil {
			header = new(string)
		}
		return reason(webhookd.Verify(bytesOf(given.Verify[0]), *header, read[[]string](given.Verify[2])...))
	}
	if given.Standard != nil {
		headers := http.Header{}
		for name, value := range read[map[string]string](given.Standard[1]) {
			headers.Set(name, value)
		}
		now := time.Unix(read[int64](given.Standard[3]), 0)
		return reason(webhookd.VerifyStandard(bytesOf(given.Standard[0]), headers, now, read[[]string](given.Standard[2])...))
	}
	if given.GiveUpAfterMs == 0 {
		given.GiveUpAfterMs = 10_000
	}
	client, err := webhookd.New(webhookd.Options{
		URL: given.URL, Socket: given.Socket, Key: os.Args[1], GiveUpAfter: time.Duration(given.GiveUpAfterMs) * time.Millisecond,
	})
	if err != nil {
		panic(err)
	}
	answer, err := answerOf(client, given)
	if err == nil {
		return map[string]any{"answer": answer}
	}
	var failure *webhookd.Error
	if !errors.As(err, &failure) {
		panic(err)
	}
	events := []webhookd.BatchItem{}
	var publish *webhookd.PublishError
	if errors.As(err, &publish) {
		events = publish.Events
	}
	faults := []string{}
	for _, fault := range failure.Errors {
		faults = append(faults, fault.Code)
	}
	return map[string]any{"error": map[string]any{
		"code": failure.Code, "retryable": failure.Retryable, "hint": failure.Hint, "events": events, "faults": faults,
	}}
}

func answerOf(client *webhookd.Client, given asked) (any, error) {
	ctx := context.Background()
	switch {
	case given.Call != nil:
		answer, err := webhookd.Call(ctx, client, webhookd.Named(read[string](given.Call[0])), sent(given.Call[1]))
		if len(answer) == 0 {
			return nil, err
		}
		return answer, err
	case given.WithETag != nil:
		answer, etag, err := webhookd.CallWithETag(ctx, client, webhookd.Named(read[string](given.WithETag[0])), sent(given.WithETag[1]))
		return []any{answer, etag}, err
	case given.Every != nil:
		items := []any{}
		for event, err := range webhookd.Every(ctx, client, webhookd.ListEvents, sent(given.Every[1])) {
			if err != nil {
				return nil, err
			}
			items = append(items, event)
		}
		return items, nil
	case given.Batch != nil:
		return client.PublishBatch(ctx, given.Batch)
	}
	return client.Publish(ctx, *given.Publish, given.IdempotencyKey)
}

func sent(text json.RawMessage) webhookd.Ask {
	given := read[ask](text)
	query := url.Values{}
	for name, value := range given.Query {
		query.Set(name, fmt.Sprint(value))
	}
	made := webhookd.Ask{ID: given.ID, Query: query, IfMatch: given.IfMatch, IfNoneMatch: given.IfNoneMatch}
	if given.Body != nil {
		made.Body = given.Body
	}
	return made
}

// publishers runs 50 of them until the input ends. It prints a line for each event that was accepted.
func publishers(url, key string) {
	client, err := webhookd.New(webhookd.Options{URL: url, Key: key, GiveUpAfter: time.Minute})
	if err != nil {
		panic(err)
	}
	ended := make(chan struct{})
	var all sync.WaitGroup
	var printing sync.Mutex
	for name := range 50 {
		all.Add(1)
		go func() {
			defer all.Done()
			for number := 1; ; number++ {
				select {
				case <-ended:
					return
				default:
				}
				ids := publishOne(client, fmt.Sprintf("go-%d", name), number)
				printing.Lock()
				for _, id := range ids {
					fmt.Println(id)
				}
				printing.Unlock()
			}
		}()
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	close(ended)
	all.Wait()
}

// publishOne publishes every third event alone, and the others in pairs.
func publishOne(client *webhookd.Client, by string, number int) []string {
	ctx := context.Background()
	data := map[string]any{"by": by, "number": number}
	if number%3 == 0 {
		published, err := client.Publish(ctx, webhookd.EventDraft{Type: "goal.achieved", Data: data, OrderingKey: &by}, "")
		if err != nil {
			panic(err)
		}
		return []string{published.ID}
	}
	pair := map[string]any{"by": by, "number": number, "pair": true}
	published, err := client.PublishBatch(ctx, []webhookd.BatchItem{
		{Type: "goal.achieved", Data: data, OrderingKey: &by}, {Type: "goal.achieved", Data: pair, OrderingKey: &by},
	})
	if err != nil {
		panic(err)
	}
	return []string{published[0].ID, published[1].ID}
}

func main() {
	if len(os.Args) == 4 && os.Args[1] == "publishers" {
		publishers(os.Args[2], os.Args[3])
		return
	}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var given asked
		if err := json.Unmarshal(lines.Bytes(), &given); err != nil {
			panic(err)
		}
		text, err := json.Marshal(tell(given))
		if err != nil {
			panic(err)
		}
		fmt.Println(string(text))
	}
}
