import { calls } from "./calls.ts";
import { python, typescript } from "./languages.ts";

calls([typescript(), python(), python("async")].filter((language) => language !== null));
