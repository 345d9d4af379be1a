import { publishing } from "./publishing.ts";
import { python, typescript } from "./languages.ts";

publishing([typescript(), python()].filter((language) => language !== null));
