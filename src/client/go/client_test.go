package webhookd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func clientOf(t *testing.T, options Options, serve http.HandlerFunc) *Client {
	t.Helper()
	server := httptest.NewServer(serve)
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)
	options.URL = server.URL
	client, err := New(options)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func TestNewLeavesTheGivenHTTPClientAsItIs(t *testing.T) {
	given := &http.Client{}
	clientOf(t, Options{HTTPClient: given}, http.NotFound)
	if given.CheckRedirect != nil {
		t.Error("New changed CheckRedirect of the caller's client")
	}
}

func TestCancelledPublishHandsBackItsEvents(t *testing.T) {
	for _, when := range []string{"during a try", "between tries"} {
		t.Run(when, func(t *testing.T) {
			ctx, cancel := context.WithCancel(context.Background())
			client := clientOf(t, Options{}, func(response http.ResponseWriter, request *http.Request) {
				if when == "during a try" {
					// The server notices the end of a connection only once it has read the request.
					_, _ = io.Copy(io.Discard, request.Body)
					cancel()
					<-request.Context().Done()
					return
				}
				response.Header().Set("Retry-After", "5")
				response.WriteHeader(http.StatusServiceUnavailable)
				time.AfterFunc(50*time.Millisecond, cancel)
			})
			_, err := client.Publish(ctx, EventDraft{Type: "goal.achieved"}, "")
			var failure *PublishError
			if !errors.As(err, &failure) || !errors.Is(err, context.Canceled) {
				t.Fatalf("got %T %v", err, err)
			}
			if len(failure.Events) != 1 || failure.Events[0].IdempotencyKey == nil {
				t.Errorf("got the events %v", failure.Events)
			}
		})
	}
}

func TestChangesNoticesADeadConnection(t *testing.T) {
	client := clientOf(t, Options{}, func(response http.ResponseWriter, request *http.Request) {
		for range 3 {
			fmt.Fprint(response, "event: ready\ndata: {}\n\n")
			response.(http.Flusher).Flush()
		}
		<-request.Context().Done()
	})
	client.silence = 500 * time.Millisecond
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	seen, last := 0, error(nil)
	for _, err := range client.Changes(ctx, nil) {
		if last = err; err == nil {
			if seen++; seen == 1 {
				// The time that the caller takes is no silence.
				time.Sleep(client.silence + 100*time.Millisecond)
			}
		}
	}
	var failure *Error
	if seen != 3 || !errors.As(last, &failure) || !strings.Contains(failure.Detail, "stopped answering") || !failure.Retryable {
		t.Errorf("got %d changes, then %v", seen, last)
	}
}

func TestChangesEndsWithItsContext(t *testing.T) {
	client := clientOf(t, Options{}, func(response http.ResponseWriter, request *http.Request) {
		fmt.Fprint(response, "event: ready\ndata: {}\n\n")
		response.(http.Flusher).Flush()
		<-request.Context().Done()
	})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var last error
	for _, err := range client.Changes(ctx, nil) {
		last = err
		cancel()
	}
	if !errors.Is(last, context.Canceled) {
		t.Errorf("got %v", last)
	}
}
