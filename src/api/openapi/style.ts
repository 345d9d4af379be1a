export const STYLE = `
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { margin: 0; display: grid; grid-template-columns: 17rem minmax(0, 1fr); }
nav { position: sticky; top: 0; height: 100vh; overflow: auto; box-sizing: border-box; padding: 1rem; font-size: .85rem; }
nav ul { list-style: none; margin: 0 0 .5rem; padding-left: .75rem; }
nav a { text-decoration: none; }
main { max-width: 60rem; padding: 1rem 2rem 6rem; }
h2 { margin-top: 3rem; border-bottom: 1px solid #8886; }
article { margin: 2rem 0; padding-left: 1rem; border-left: 3px solid #8886; }
article p { margin: .4rem 0; }
table { border-collapse: collapse; width: 100%; font-size: .9rem; }
th, td { text-align: left; vertical-align: top; padding: .25rem .75rem .25rem 0; border-bottom: 1px solid #8883; }
td p { margin: 0; }
code, pre { font-family: ui-monospace, monospace; font-size: .9em; overflow-wrap: break-word; }
pre { padding: .75rem; overflow: auto; background: #8881; }
small { opacity: .75; }
@media (max-width: 50rem) { body { display: block; } nav { position: static; height: auto; } }
`;
