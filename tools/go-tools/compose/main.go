// Loads a compose file as `docker compose config` does, with the same library: variables, schema,
// and references between services, networks, secrets and volumes. Prints the result as JSON.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/compose-spec/compose-go/v2/cli"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(files []string) error {
	// The order of docker compose: the environment overrides the file .env.
	options, err := cli.NewProjectOptions(files, cli.WithOsEnv, cli.WithEnvFiles(), cli.WithDotEnv)
	if err != nil {
		return err
	}
	project, err := options.LoadProject(context.Background())
	if err != nil {
		return err
	}
	text, err := project.MarshalJSON()
	if err != nil {
		return err
	}
	fmt.Println(string(text))
	return nil
}
