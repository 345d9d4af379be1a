/** Light or dark: as the address asks for with `?theme=`, because a host's page may differ from the system; else as the system is. */

const isDark = matchMedia("(prefers-color-scheme: dark)");

export function applyTheme(): void {
  const asked = new URLSearchParams(location.search).get("theme");
  const apply = () => {
    const theme = asked === "light" || asked === "dark" ? asked : isDark.matches ? "dark" : "light";
    document.documentElement.dataset.theme = theme;
  };
  apply();
  isDark.addEventListener("change", apply);
}
