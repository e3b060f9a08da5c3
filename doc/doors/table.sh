skgpb search patients.csv --features bmi s5 --target progression --report report.html
