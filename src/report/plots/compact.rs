//! Makes plotters' SVG smaller: it repeats defaults, and each of its dashes is a line of its own.

/// How plotters begins a line.
const LINE: &str = "<polyline fill=\"none\" opacity=\"1\" ";
/// Attributes that state what holds without them.
const DEFAULTS: [&str; 3] = [" opacity=\"1\"", " stroke=\"none\" stroke-width=\"1\"", " stroke=\"none\""];
const FONT: &str = " font-family=\"sans-serif\"";

/// Neighbouring lines of one look become one path, defaults go, the font is named once.
pub fn compact(svg: &str) -> String {
    let mut short = String::with_capacity(svg.len());
    let mut open: Option<&str> = None;
    for line in svg.split_inclusive('\n') {
        let style_and_points = line.strip_prefix(LINE).and_then(|rest| {
            let (style, points) = rest.split_once(" points=\"")?;
            Some((style, points.split_once('"')?.0.trim_end()))
        });
        if open.is_some() && open != style_and_points.map(|(style, _)| style) {
            short.push_str("\"/>\n");
            open = None;
        }
        match style_and_points {
            Some((style, points)) => {
                if open.is_none() {
                    short.push_str(&format!("<path fill=\"none\" {style} d=\""));
                    open = Some(style);
                }
                short.push('M');
                short.push_str(points);
            }
            // What is written is escaped: only elements begin like this.
            None if line.starts_with('<') => {
                let mut line = line.replace(FONT, "");
                DEFAULTS.iter().for_each(|default| line = line.replace(default, ""));
                short.push_str(&line);
            }
            None => short.push_str(line),
        }
    }
    short.replacen(" width=\"", &format!("{FONT} width=\""), 1)
}
